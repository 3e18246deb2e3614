//! Kinds and fields of the grammar as small numbers, looked up by the parser's own ids.

use std::sync::LazyLock;
use tree_sitter::Language;

macro_rules! names {
    ($(#[$doc:meta])* $list:ident: $($name:ident = $text:literal)*, else $rest:ident) => {
        $(#[$doc])*
        // A node of the kind `ERROR` is no kind of error.
        #[allow(clippy::enum_variant_names)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum $list {
            $($name,)*
            $rest,
        }

        impl $list {
            fn named(text: &str) -> $list {
                match text {
                    $($text => $list::$name,)*
                    _ => $list::$rest,
                }
            }
        }
    };
}

names! {
    /// Kinds of nodes that the lowering tells apart.
    Kind:
    FunctionDefinition = "function_definition"
    Declaration = "declaration"
    FieldDeclaration = "field_declaration"
    TemplateDeclaration = "template_declaration"
    NamespaceDefinition = "namespace_definition"
    LinkageSpecification = "linkage_specification"
    ClassSpecifier = "class_specifier"
    StructSpecifier = "struct_specifier"
    UnionSpecifier = "union_specifier"
    EnumSpecifier = "enum_specifier"
    TypeDefinition = "type_definition"
    AliasDeclaration = "alias_declaration"
    ConceptDefinition = "concept_definition"
    TemplateInstantiation = "template_instantiation"
    PreprocInclude = "preproc_include"
    PreprocDef = "preproc_def"
    PreprocFunctionDef = "preproc_function_def"
    PreprocCall = "preproc_call"
    Comment = "comment"
    DeclarationList = "declaration_list"
    FieldDeclarationList = "field_declaration_list"
    FriendDeclaration = "friend_declaration"
    TranslationUnit = "translation_unit"
    Error = "ERROR"
    PreprocIf = "preproc_if"
    PreprocIfdef = "preproc_ifdef"
    PreprocElif = "preproc_elif"
    PreprocElifdef = "preproc_elifdef"
    PreprocElse = "preproc_else"
    TemplateParameterList = "template_parameter_list"
    TemplateFunction = "template_function"
    QualifiedIdentifier = "qualified_identifier"
    TrailingReturnType = "trailing_return_type"
    LaunchBounds = "launch_bounds"
    FunctionDeclarator = "function_declarator"
    ParenthesizedDeclarator = "parenthesized_declarator"
    PointerDeclarator = "pointer_declarator"
    ArrayDeclarator = "array_declarator"
    AttributedDeclarator = "attributed_declarator"
    ReferenceDeclarator = "reference_declarator"
    TypeQualifier = "type_qualifier"
    StorageClassSpecifier = "storage_class_specifier"
    PlaceholderTypeSpecifier = "placeholder_type_specifier"
    Decltype = "decltype"
    DependentType = "dependent_type"
    TypeDescriptor = "type_descriptor"
    AbstractPointerDeclarator = "abstract_pointer_declarator"
    PointerTypeDeclarator = "pointer_type_declarator"
    AbstractReferenceDeclarator = "abstract_reference_declarator"
    AbstractArrayDeclarator = "abstract_array_declarator"
    AbstractParenthesizedDeclarator = "abstract_parenthesized_declarator"
    VariadicDeclarator = "variadic_declarator"
    InitDeclarator = "init_declarator"
    AbstractFunctionDeclarator = "abstract_function_declarator"
    StructuredBindingDeclarator = "structured_binding_declarator"
    TypeIdentifier = "type_identifier"
    Identifier = "identifier"
    KernelCallSyntax = "kernel_call_syntax"
    FieldExpression = "field_expression"
    PrimitiveType = "primitive_type"
    SizedTypeSpecifier = "sized_type_specifier"
    ExpressionStatement = "expression_statement"
    LambdaCaptureInitializer = "lambda_capture_initializer"
    DependentName = "dependent_name"
    TemplateMethod = "template_method"
    Enumerator = "enumerator"
    TryStatement = "try_statement"
    CompoundStatement = "compound_statement"
    ElseClause = "else_clause"
    IfStatement = "if_statement"
    ForStatement = "for_statement"
    WhileStatement = "while_statement"
    DoStatement = "do_statement"
    ForRangeLoop = "for_range_loop"
    SwitchStatement = "switch_statement"
    CaseStatement = "case_statement"
    ReturnStatement = "return_statement"
    CoReturnStatement = "co_return_statement"
    BreakStatement = "break_statement"
    ContinueStatement = "continue_statement"
    AttributedStatement = "attributed_statement"
    UsingDeclaration = "using_declaration"
    StaticAssertDeclaration = "static_assert_declaration"
    NamespaceAliasDefinition = "namespace_alias_definition"
    LabeledStatement = "labeled_statement"
    SehTryStatement = "seh_try_statement"
    CatchClause = "catch_clause"
    GotoStatement = "goto_statement"
    ThrowStatement = "throw_statement"
    GnuAsmExpression = "gnu_asm_expression"
    BinaryExpression = "binary_expression"
    CommaExpression = "comma_expression"
    AssignmentExpression = "assignment_expression"
    SubscriptExpression = "subscript_expression"
    CallExpression = "call_expression"
    Constexpr = "constexpr"
    ParenthesizedExpression = "parenthesized_expression"
    ConditionClause = "condition_clause"
    GnuAsmQualifier = "gnu_asm_qualifier"
    NumberLiteral = "number_literal"
    CharLiteral = "char_literal"
    StringLiteral = "string_literal"
    RawStringLiteral = "raw_string_literal"
    ConcatenatedString = "concatenated_string"
    True = "true"
    False = "false"
    Null = "null"
    Nullptr = "nullptr"
    This = "this"
    FieldIdentifier = "field_identifier"
    UnaryExpression = "unary_expression"
    PointerExpression = "pointer_expression"
    UpdateExpression = "update_expression"
    CastExpression = "cast_expression"
    ConditionalExpression = "conditional_expression"
    InitializerList = "initializer_list"
    ArgumentList = "argument_list"
    InitializerPair = "initializer_pair"
    CompoundLiteralExpression = "compound_literal_expression"
    SizeofExpression = "sizeof_expression"
    LambdaExpression = "lambda_expression"
    UserDefinedLiteral = "user_defined_literal"
    InitStatement = "init_statement"
    ParameterDeclaration = "parameter_declaration"
    PreprocArg = "preproc_arg"
    , else Other
}

names! {
    /// Fields that the lowering asks for.
    Field:
    Alternative = "alternative"
    Argument = "argument"
    Arguments = "arguments"
    AssemblyCode = "assembly_code"
    Body = "body"
    Captures = "captures"
    Clobbers = "clobbers"
    Condition = "condition"
    Consequence = "consequence"
    Constraint = "constraint"
    Declarator = "declarator"
    DefaultType = "default_type"
    DefaultValue = "default_value"
    Field = "field"
    Function = "function"
    Indices = "indices"
    Initializer = "initializer"
    InputOperands = "input_operands"
    Left = "left"
    Name = "name"
    Operator = "operator"
    OutputOperands = "output_operands"
    Parameters = "parameters"
    Path = "path"
    Right = "right"
    Size = "size"
    TemplateParameters = "template_parameters"
    Type = "type"
    Update = "update"
    Value = "value"
    , else None
}

/// Marks of a kind.
pub(super) const NAMED: u8 = 1;
/// The text of such a node is read from the original: a stand-in of the mask may be spelt otherwise.
pub(super) const ORIGINAL: u8 = 1 << 1;
/// `.._specifier`
pub(super) const SPECIFIER: u8 = 1 << 2;
/// An expression of some kind.
pub(super) const EXPRESSION: u8 = 1 << 3;
/// `..identifier`
pub(super) const IDENTIFIER: u8 = 1 << 4;
/// `attribute..`
pub(super) const ATTRIBUTE: u8 = 1 << 5;

/// What the grammar says of one kind id.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub kind: Kind,
    pub marks: u8,
    /// Whether it is one of the brackets and separators, which are no fields.
    pub is_bracket: bool,
    /// Whether it is a literal whose quotes and characters nobody looks at one by one.
    pub is_quoted: bool,
    pub name: &'static str,
}

struct Tables {
    kinds: Vec<Entry>,
    fields: Vec<Field>,
}

/// Of the id that the parser gives to errors, which is no index.
const ERROR: Entry = Entry { kind: Kind::Error, marks: NAMED, is_bracket: false, is_quoted: false, name: "ERROR" };

static LANGUAGE: LazyLock<Language> = LazyLock::new(|| tree_sitter_cuda::LANGUAGE.into());

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let language = language();
    let kinds = (0..language.node_kind_count() as u16).map(|id| read(language, id)).collect();
    let field = |id: u16| language.field_name_for_id(id).map_or(Field::None, Field::named);
    let fields = (0..=language.field_count() as u16).map(field).collect();
    Tables { kinds, fields }
});

fn read(language: &'static Language, id: u16) -> Entry {
    let name = language.node_kind_for_id(id).unwrap_or("");
    let literal = name.ends_with("_literal");
    let identifier = name.ends_with("identifier");
    let expression = name.ends_with("_expression") || literal || matches!(name, "identifier" | "qualified_identifier");
    let marks = [
        (language.node_kind_is_named(id), NAMED),
        (identifier && name != "qualified_identifier" || literal, ORIGINAL),
        (name.ends_with("_specifier"), SPECIFIER),
        (expression, EXPRESSION),
        (identifier, IDENTIFIER),
        (name.starts_with("attribute"), ATTRIBUTE),
    ];
    let marks = marks.iter().filter(|(on, _)| *on).map(|(_, mark)| mark).sum();
    Entry {
        kind: Kind::named(name),
        marks,
        is_bracket: matches!(name, "(" | ")" | "[" | "]" | "{" | "}" | "," | ";"),
        is_quoted: matches!(name, "string_literal" | "char_literal" | "raw_string_literal" | "system_lib_string"),
        name,
    }
}

pub(super) fn language() -> &'static Language {
    &LANGUAGE
}

pub(super) fn entry(id: u16) -> &'static Entry {
    TABLES.kinds.get(id as usize).unwrap_or(&ERROR)
}

pub(super) fn field_of(id: std::num::NonZeroU16) -> Field {
    TABLES.fields.get(id.get() as usize).copied().unwrap_or(Field::None)
}
