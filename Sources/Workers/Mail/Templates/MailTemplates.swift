import CountersignEncoding
import FoundationEssentials
public import JobEngine

/// The texts of mail, by template name and language.
///
/// Languages are looked up as in RFC 4647 (`pt-BR`, then `pt`, then the default); aliases in the files add further
/// tags.
public struct MailTemplates: Sendable {
  private struct Language: Sendable {
    let tag: String
    let templates: [String: MailTemplate]
  }

  /// By language tag in lower case.
  private let languages: [String: Language]
  private let defaultLanguage: String
  private let layout: HTMLLayout

  static let maxFileBytes = 256 * 1024

  /// Reads every `<language>.json` of a directory, and `layout.html`. Blocks, so it is called while the process starts.
  ///
  /// - Throws: the problem, with the name of the file.
  public init(directory: String, defaultLanguage: String) throws(WorkerError) {
    layout = try Self.layout(directory + "/layout.html")
    var languages: [String: Language] = [:]
    for name in try Self.fileNames(in: directory) {
      let file = try Self.read(directory + "/" + name, name)
      let language = Language(tag: file.language, templates: try Self.parse(file))
      for tag in [file.language] + (file.aliases ?? []) {
        guard let key = LanguageLookup.chain(tag).first else {
          throw WorkerError(.invalidTemplate, "\(name): '\(tag)' is not a language tag (BCP 47)")
        }
        guard languages.updateValue(language, forKey: key) == nil else {
          throw WorkerError(.invalidTemplate, "\(name): another file already serves '\(tag)'")
        }
      }
    }
    self.defaultLanguage = LanguageLookup.chain(defaultLanguage).first ?? defaultLanguage
    self.languages = languages
    guard languages[self.defaultLanguage] != nil else {
      throw WorkerError(
        .invalidTemplate, "\(directory): no file serves templates.defaultLanguage, '\(defaultLanguage)'")
    }
  }

  /// The names of all templates, sorted.
  public var names: [String] { Set(languages.values.flatMap(\.templates.keys)).sorted() }

  /// The tags of all languages, sorted.
  public var languageTags: [String] { Set(languages.values.map(\.tag)).sorted() }

  func render(
    _ name: String, languageCode: String?, variables: [String: String]
  ) throws(MailTemplateProblem) -> MailText {
    guard let (template, tag) = find(name, languageCode) else {
      throw MailTemplateProblem(code: .unknownTemplate, detail: unknown(name))
    }
    let values = try Self.check(variables)
    let missing = template.missing(values)
    guard missing.isEmpty else {
      let names = missing.map(\.rawValue).joined(separator: ", ")
      throw MailTemplateProblem(code: .missingVariable, detail: "variables: template '\(name)' needs \(names)")
    }
    return template.render(values, layout, language: tag)
  }

  private func find(_ name: String, _ languageCode: String?) -> (MailTemplate, String)? {
    for tag in (languageCode.map(LanguageLookup.chain) ?? []) + [defaultLanguage] {
      if let language = languages[tag], let template = language.templates[name] { return (template, language.tag) }
    }
    return nil
  }

  /// Only a short and plain name is repeated, because it came from outside.
  private func unknown(_ name: String) -> String {
    let isPlain = name.utf8.count <= 40 && name.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    return "there is no template \(isPlain ? "'\(name)'" : "of that name"); known: \(names.joined(separator: ", "))"
  }

  private static func check(_ variables: [String: String]) throws(MailTemplateProblem) -> [MailVariable: String] {
    var values: [MailVariable: String] = [:]
    for variable in MailVariable.allCases {
      guard let value = variables[variable.rawValue] else { continue }
      if let problem = variable.problem(with: value) {
        throw MailTemplateProblem(code: .invalidVariable, detail: "variables.\(variable.rawValue) \(problem)")
      }
      values[variable] = value
    }
    return values
  }
}

extension MailTemplates {
  private static func fileNames(in directory: String) throws(WorkerError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".json") }.sorted()
    } catch {
      throw WorkerError(.invalidTemplate, "cannot read the directory \(directory): set templates.directory")
    }
  }

  private static func data(_ path: String) throws(WorkerError) -> Data {
    do {
      return try DataFile.read(path, maxBytes: maxFileBytes)
    } catch {
      throw WorkerError(.invalidTemplate, error.message)
    }
  }

  private static func layout(_ path: String) throws(WorkerError) -> HTMLLayout {
    let source = String(decoding: try data(path), as: UTF8.self)
    do {
      return try HTMLLayout(source)
    } catch {
      throw WorkerError(.invalidTemplate, "\(path) \(error.message)")
    }
  }

  private static func read(_ path: String, _ name: String) throws(WorkerError) -> MailTemplateFile {
    let data = try data(path)
    let file: MailTemplateFile
    do {
      file = try JSONReader(maxBytes: maxFileBytes).decode(MailTemplateFile.self, from: data)
    } catch {
      throw WorkerError(.invalidTemplate, "\(path): \(DecodingText.describe(error))")
    }
    guard name == file.language + ".json" else {
      throw WorkerError(
        .invalidTemplate, "\(path): language is '\(file.language)', which does not match the file's name")
    }
    return file
  }

  private static func parse(_ file: MailTemplateFile) throws(WorkerError) -> [String: MailTemplate] {
    var templates: [String: MailTemplate] = [:]
    for (name, template) in file.templates {
      do {
        templates[name] = try MailTemplate(template, isRightToLeft: file.direction == .rtl)
      } catch {
        throw WorkerError(.invalidTemplate, "\(file.language).json: templates.\(name).\(error.message)")
      }
    }
    return templates
  }
}

/// It is the sender's mistake: a later attempt fails as well.
struct MailTemplateProblem: Error, Sendable, Hashable {
  enum Code: String, Sendable {
    case unknownTemplate = "UNKNOWN_TEMPLATE"
    case missingVariable = "MISSING_VARIABLE"
    case invalidVariable = "INVALID_VARIABLE"
  }

  let code: Code
  /// Never the value of a variable.
  let detail: String
}
