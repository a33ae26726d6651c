public import JobEngine

/// Texts of verification messages, by template name and language.
public struct SMSTemplates: Sendable {
  private let catalog: TemplateCatalog<SMSTemplate>
  private let variables: TemplateVariables

  /// Reads every `<language>.json` of a directory, and `variables.json5`.
  ///
  /// - Parameters:
  ///   - directory: path of the directory.
  ///   - defaultLanguage: tag of the fallback language.
  /// - Throws: `.unreadable` if the directory or a file cannot be read or decoded, `.invalidTemplate` if a file breaks
  ///   a rule. The message names the file and the fix.
  public init(directory: String, defaultLanguage: String) throws(WorkerError) {
    try self.init(
      TemplateFiles.read(directory), defaultLanguage: defaultLanguage,
      variables: TemplateVariables.sms.declared(in: directory))
  }

  init(
    _ files: [SMSTemplateFile], defaultLanguage: String, variables: TemplateVariables = .sms
  ) throws(WorkerError) {
    self.variables = variables
    catalog = try TemplateCatalog(files, defaultLanguage: defaultLanguage) { (_, forms) throws(TemplateFault) in
      try SMSTemplate(forms, variables)
    }
  }

  /// Names of all templates, sorted.
  public var names: [String] { catalog.names }

  /// Renders the text of a job.
  ///
  /// - Parameters:
  ///   - name: name of the template, such as `verification`.
  ///   - languageCode: language tag; a malformed one counts as absent.
  ///   - variables: `code` (required), `appName` (if the wording uses it), `domain` (adds the line `@domain #code`),
  ///     `androidHash` (adds the app's hash instead). Others are ignored.
  ///   - custom: values of declared variables. Those that the template does not use are ignored.
  /// - Throws: when the template is unknown, or a variable is missing or not allowed.
  public func render(
    _ name: String, languageCode: String?, variables: [String: String], custom: [String: String] = [:]
  ) throws(TemplateProblem) -> SMSText {
    let template = try catalog.find(name, languageCode).template
    let values = try self.variables.values(variables, custom: custom, for: template.variables)
    let tail = MessageTail(values)
    for variable in template.required(tail) where values[variable] == nil {
      throw self.variables.missing(variable, by: name, custom: custom)
    }
    try self.variables.checkNumbers(in: template.texts(tail), values, of: name)
    return template.render(values)
  }
}

/// Content of a file `<language>.json` in the template directory.
struct SMSTemplateFile: TemplateFile {
  let language: String
  let aliases: [String]?
  let templates: [String: Forms]

  /// Best first: the first that fits in one segment is sent.
  struct Forms: Decodable, Sendable {
    let plain: [String]
    /// Without the last line `@domain #code`, which the worker adds.
    let domainBound: [String]
  }
}
