import JobEngine

/// Texts of verification messages, by template name and language.
///
/// A job names a template and a language. The language is looked up by RFC 4647 (`pt-BR`, then `pt`, then the default);
/// aliases in the files decide, for instance, which Portuguese serves `pt`.
public struct SMSTemplates: Sendable {
  /// Templates by language tag (in lower case and as the file writes it), then by name.
  private let languages: [String: [String: SMSTemplate]]
  private let defaultLanguage: String

  init(_ files: [TemplateFile], defaultLanguage: String) throws(WorkerError) {
    var languages: [String: [String: SMSTemplate]] = [:]
    for file in files {
      let templates = try Self.parse(file)
      for tag in [file.language] + (file.aliases ?? []) {
        guard let key = LanguageLookup.chain(tag).first else {
          throw WorkerError(.invalidTemplate, "\(file.language).json: '\(tag)' is not a language tag (BCP 47)")
        }
        guard languages.updateValue(templates, forKey: key) == nil else {
          throw WorkerError(.invalidTemplate, "\(file.language).json: another file already serves '\(tag)'")
        }
        if tag != key { languages[tag] = templates }
      }
    }
    self.defaultLanguage = LanguageLookup.chain(defaultLanguage).first ?? defaultLanguage
    self.languages = languages
    guard languages[self.defaultLanguage] != nil else {
      throw WorkerError(
        .invalidTemplate, "templates.defaultLanguage is '\(defaultLanguage)', but no template file serves it")
    }
  }

  private static func parse(_ file: TemplateFile) throws(WorkerError) -> [String: SMSTemplate] {
    var templates: [String: SMSTemplate] = [:]
    for (name, forms) in file.templates {
      do {
        templates[name] = try SMSTemplate(forms)
      } catch {
        throw WorkerError(.invalidTemplate, "\(file.language).json: templates.\(name).\(error.message)")
      }
    }
    return templates
  }

  /// Renders the text of a job.
  ///
  /// - Parameters:
  ///   - name: name of the template, such as `verification`.
  ///   - languageCode: language tag; a malformed one counts as absent.
  ///   - variables: `code` (required), `appName` (if the wording uses it), `domain` (adds the line `@domain #code`),
  ///     `androidHash` (adds the app's hash instead). Others are ignored.
  /// - Throws: when the template is unknown, or a variable is missing or not allowed.
  public func render(
    _ name: String, languageCode: String?, variables: [String: String]
  ) throws(SMSTemplateProblem) -> SMSText {
    guard let template = find(name, languageCode) else {
      throw SMSTemplateProblem(code: .unknownTemplate, detail: unknown(name))
    }
    let values = try Self.check(variables)
    for variable in template.required(MessageTail(values)) where values[variable] == nil {
      throw SMSTemplateProblem(
        code: .missingVariable, detail: "variables.\(variable.rawValue) is missing; template '\(name)' needs it")
    }
    return template.render(values)
  }

  /// Names of all templates, sorted.
  public var names: [String] { Set(languages.values.flatMap(\.keys)).sorted() }

  private func find(_ name: String, _ languageCode: String?) -> SMSTemplate? {
    // Most jobs write the tag as the files do, which saves parsing it.
    if let languageCode, let template = languages[languageCode]?[name] { return template }
    for tag in languageCode.map(LanguageLookup.chain) ?? [] {
      if let template = languages[tag]?[name] { return template }
    }
    return languages[defaultLanguage]?[name]
  }

  /// It repeats the name only if it is short and plain: it came from outside.
  private func unknown(_ name: String) -> String {
    let isPlain = name.utf8.count <= 40 && name.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    return "there is no template \(isPlain ? "'\(name)'" : "of that name"); known: \(names.joined(separator: ", "))"
  }

  static func check(_ variables: [String: String]) throws(SMSTemplateProblem) -> [TemplateVariable: String] {
    var values: [TemplateVariable: String] = [:]
    for variable in TemplateVariable.allCases {
      guard let value = variables[variable.rawValue] else { continue }
      if let problem = variable.problem(with: value) {
        throw SMSTemplateProblem(code: .invalidVariable, detail: "variables.\(variable.rawValue) \(problem)")
      }
      values[variable] = value
    }
    return values
  }
}

/// A reason that a job's template cannot be rendered. It is the sender's mistake, so a later attempt does not fix it.
public struct SMSTemplateProblem: Error, Sendable, Hashable, CustomStringConvertible {
  /// Kind of the problem.
  public enum Code: String, Sendable {
    case unknownTemplate = "UNKNOWN_TEMPLATE"
    case missingVariable = "MISSING_VARIABLE"
    case invalidVariable = "INVALID_VARIABLE"
  }

  public let code: Code
  /// The problem and its fix. Never repeats the value of a variable.
  public let detail: String

  /// Safe to log.
  public var description: String { "\(code.rawValue): \(detail)" }
}
