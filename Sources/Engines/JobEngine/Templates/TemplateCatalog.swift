/// Templates by language and name.
///
/// A language is looked up by RFC 4647 (`pt-BR`, then `pt`, then the default); aliases in the files decide, for
/// instance, which Portuguese serves `pt`.
public struct TemplateCatalog<Template: Sendable>: Sendable {
  /// Templates of a file.
  private struct Language: Sendable {
    let tag: String
    let templates: [String: Template]
  }

  /// By language tag, in lower case and as the file writes it.
  private let languages: [String: Language]
  private let defaultLanguage: String

  /// - Parameters:
  ///   - files: content of the files.
  ///   - defaultLanguage: tag of the fallback language.
  ///   - parse: makes a template of what a file has.
  /// - Throws: `.invalidTemplate` if a file breaks a rule. The message names the file and the fix.
  public init<File: TemplateFile>(
    _ files: [File], defaultLanguage: String, _ parse: (File, File.Source) throws(TemplateFault) -> Template
  ) throws(WorkerError) {
    var languages: [String: Language] = [:]
    for file in files {
      let language = Language(tag: file.language, templates: try Self.parse(file, parse))
      for tag in [file.language] + (file.aliases ?? []) {
        guard let key = LanguageLookup.chain(tag).first else {
          throw WorkerError(.invalidTemplate, "\(file.language).json: '\(tag)' is not a language tag (BCP 47)")
        }
        guard languages.updateValue(language, forKey: key) == nil else {
          throw WorkerError(.invalidTemplate, "\(file.language).json: another file already serves '\(tag)'")
        }
        if tag != key { languages[tag] = language }
      }
    }
    self.defaultLanguage = LanguageLookup.chain(defaultLanguage).first ?? defaultLanguage
    self.languages = languages
    guard languages[self.defaultLanguage] != nil else {
      throw WorkerError(
        .invalidTemplate, "templates.defaultLanguage is '\(defaultLanguage)', but no template file serves it")
    }
  }

  private static func parse<File: TemplateFile>(
    _ file: File, _ parse: (File, File.Source) throws(TemplateFault) -> Template
  ) throws(WorkerError) -> [String: Template] {
    var templates: [String: Template] = [:]
    for (name, source) in file.templates {
      do {
        templates[name] = try parse(file, source)
      } catch {
        throw WorkerError(.invalidTemplate, "\(file.language).json: templates.\(name).\(error.message)")
      }
    }
    return templates
  }

  /// Names of all templates, sorted.
  public var names: [String] { Set(languages.values.flatMap(\.templates.keys)).sorted() }

  /// Tags of all languages, sorted.
  public var languageTags: [String] { Set(languages.values.map(\.tag)).sorted() }

  /// Finds a template.
  ///
  /// - Parameters:
  ///   - name: name of the template.
  ///   - languageCode: language tag; a malformed one counts as absent.
  /// - Returns: the template, and the tag of its file.
  /// - Throws: the problem that there is none of this name.
  public func find(
    _ name: String, _ languageCode: String?
  ) throws(TemplateProblem) -> (template: Template, language: String) {
    // Most jobs write the tag as the files do, which saves parsing it.
    if let languageCode, let found = find(name, in: languageCode) { return found }
    for tag in languageCode.map(LanguageLookup.chain) ?? [] {
      if let found = find(name, in: tag) { return found }
    }
    guard let found = find(name, in: defaultLanguage) else {
      throw TemplateProblem(.unknownTemplate, unknown(name))
    }
    return found
  }

  private func find(_ name: String, in tag: String) -> (template: Template, language: String)? {
    guard let language = languages[tag], let template = language.templates[name] else { return nil }
    return (template, language.tag)
  }

  /// It repeats the name only if it is short and plain: it came from outside.
  private func unknown(_ name: String) -> String {
    let isPlain = name.utf8.count <= 40 && name.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    return "there is no template \(isPlain ? "'\(name)'" : "of that name"); known: \(names.joined(separator: ", "))"
  }
}
