import JobEngine

/// The texts of verification messages, by template name and language.
///
/// A job names a template and a language; the language is looked up as RFC 4647 says (`pt-BR`, then `pt`, then the default),
/// and aliases in the files settle what that leaves open: which Portuguese somebody gets who asks for `pt`.
public struct SMSTemplates: Sendable {
  /// By language tag (in lower case and as the file writes it), then by template name.
  private let languages: [String: [String: MessageTemplate]]
  private let defaultLanguage: String

  /// - Parameter defaultLanguage: The tag of the language for everybody whose own is not there.
  /// - Throws: `.invalidTemplate` when a language or alias comes twice, a wording breaks a rule, or the default language
  ///   is missing.
  init(_ files: [TemplateFile], defaultLanguage: String) throws(SMSDispatchError) {
    var languages: [String: [String: MessageTemplate]] = [:]
    for file in files {
      let templates = try Self.parse(file)
      for tag in [file.language] + (file.aliases ?? []) {
        guard let key = LanguageLookup.chain(tag).first else {
          throw SMSDispatchError(.invalidTemplate, "\(file.language).json: '\(tag)' is no language tag (BCP 47)")
        }
        guard languages.updateValue(templates, forKey: key) == nil else {
          throw SMSDispatchError(.invalidTemplate, "\(file.language).json: another file already serves '\(tag)'")
        }
        if tag != key { languages[tag] = templates }
      }
    }
    self.defaultLanguage = LanguageLookup.chain(defaultLanguage).first ?? defaultLanguage
    self.languages = languages
    guard languages[self.defaultLanguage] != nil else {
      throw SMSDispatchError(
        .invalidTemplate, "templates.defaultLanguage is '\(defaultLanguage)', but no template file serves it")
    }
  }

  private static func parse(_ file: TemplateFile) throws(SMSDispatchError) -> [String: MessageTemplate] {
    var templates: [String: MessageTemplate] = [:]
    for (name, forms) in file.templates {
      do {
        templates[name] = try MessageTemplate(forms)
      } catch {
        throw SMSDispatchError(.invalidTemplate, "\(file.language).json: templates.\(name).\(error.message)")
      }
    }
    return templates
  }

  /// The text of a job.
  ///
  /// - Parameters:
  ///   - name: The template, such as `verification`.
  ///   - languageCode: A language tag; what is no tag counts as none.
  ///   - variables: `code` (needed), `appName` (as the wording needs it), `domain` (adds the line `@domain #code`),
  ///     `androidHash` (adds the app's hash instead).
  ///     Others are ignored.
  /// - Throws: `TemplateProblem` when the template is unknown or a variable is missing or not allowed.
  public func render(
    _ name: String, languageCode: String?, variables: [String: String]
  ) throws(TemplateProblem) -> SMSText {
    guard let template = find(name, languageCode) else {
      throw TemplateProblem(code: .unknownTemplate, detail: unknown(name))
    }
    let values = try Self.check(variables)
    for variable in template.required(MessageTail(values)) where values[variable] == nil {
      throw TemplateProblem(
        code: .missingVariable, detail: "variables.\(variable.rawValue) is missing; template '\(name)' needs it")
    }
    return template.render(values)
  }

  /// The names of all templates, sorted.
  public var names: [String] { Set(languages.values.flatMap(\.keys)).sorted() }

  private func find(_ name: String, _ languageCode: String?) -> MessageTemplate? {
    // Most ask for a language as the files write it; that spares taking the tag apart.
    if let languageCode, let template = languages[languageCode]?[name] { return template }
    for tag in languageCode.map(LanguageLookup.chain) ?? [] {
      if let template = languages[tag]?[name] { return template }
    }
    return languages[defaultLanguage]?[name]
  }

  /// The name is repeated only when it is short and plain, since it came from outside.
  private func unknown(_ name: String) -> String {
    let isPlain = name.utf8.count <= 40 && name.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    return "there is no template \(isPlain ? "'\(name)'" : "of that name"); known: \(names.joined(separator: ", "))"
  }

  /// - Throws: `TemplateProblem` when a value is not allowed.
  static func check(_ variables: [String: String]) throws(TemplateProblem) -> [TemplateVariable: String] {
    var values: [TemplateVariable: String] = [:]
    for variable in TemplateVariable.allCases {
      guard let value = variables[variable.rawValue] else { continue }
      if let problem = variable.problem(with: value) {
        throw TemplateProblem(code: .invalidVariable, detail: "variables.\(variable.rawValue) \(problem)")
      }
      values[variable] = value
    }
    return values
  }
}
