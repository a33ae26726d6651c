public import JobEngine

/// The texts of mail, by template name and language.
public struct MailTemplates: Sendable {
  private let catalog: TemplateCatalog<MailTemplate>
  private let variables: TemplateVariables
  private let layout: HTMLLayout

  /// Reads every `<language>.json` of a directory, `layout.html` and `variables.json5`. Blocks, so it is called while
  /// the process starts.
  ///
  /// - Throws: the problem, with the name of the file.
  public init(directory: String, defaultLanguage: String) throws(WorkerError) {
    try self.init(
      TemplateFiles.read(directory), defaultLanguage: defaultLanguage,
      variables: TemplateVariables.mail.declared(in: directory), layout: HTMLLayout(directory: directory))
  }

  init(
    _ files: [MailTemplateFile], defaultLanguage: String, variables: TemplateVariables, layout: HTMLLayout
  ) throws(WorkerError) {
    self.variables = variables
    self.layout = layout
    catalog = try TemplateCatalog(files, defaultLanguage: defaultLanguage) { (file, source) throws(TemplateFault) in
      try MailTemplate(source, variables, isRightToLeft: file.direction == .rtl)
    }
  }

  /// The names of all templates, sorted.
  public var names: [String] { catalog.names }

  /// The tags of all languages, sorted.
  public var languageTags: [String] { catalog.languageTags }

  func render(
    _ name: String, languageCode: String?, variables: [String: String], custom: [String: String] = [:]
  ) throws(TemplateProblem) -> MailText {
    let (template, language) = try catalog.find(name, languageCode)
    let values = try self.variables.values(variables, custom: custom, for: template.used)
    let missing = template.missing(values)
    if let variable = missing.first, Set(missing).count == 1 {
      throw self.variables.missing(variable, by: name, custom: custom)
    }
    guard missing.isEmpty else {
      let names = missing.map(\.name).joined(separator: ", ")
      throw TemplateProblem(.missingVariable, "variables: template '\(name)' needs \(names)")
    }
    try self.variables.checkNumbers(in: template.texts(values), values, of: name)
    return template.render(values, layout, language: language)
  }
}
