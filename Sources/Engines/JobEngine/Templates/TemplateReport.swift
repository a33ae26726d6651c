/// Result of checking a directory of templates.
public struct TemplateReport: Sendable, Hashable {
  public var files = 0
  /// Texts in all of them.
  public var wordings = 0
  /// Problems.
  public var findings: [TemplateFinding] = []
  /// Notes that are good to know, and no faults: the cost of the longest values, a language without a template.
  public var notes: [TemplateFinding] = []

  public init() {}

  /// Adds the report on another directory.
  public mutating func add(_ other: Self) {
    files += other.files
    wordings += other.wordings
    findings += other.findings
    notes += other.notes
  }

  /// Compares the variables of the files: a language that lacks one says less than the others.
  ///
  /// - Parameter used: variables that the templates of each file name, by the file's name and the template's.
  public mutating func compare(_ used: [String: [String: Set<TemplateVariable>]]) {
    for template in Set(used.values.flatMap(\.keys)).sorted() {
      let all = used.values.compactMap { $0[template] }.reduce(into: Set<TemplateVariable>()) { $0.formUnion($1) }
      for (file, templates) in used.sorted(by: { $0.key < $1.key }) {
        guard let variables = templates[template] else {
          note(file, template, "is missing: messages are in the default language")
          continue
        }
        for variable in all.subtracting(variables).sorted(by: { $0.name < $1.name }) {
          find(file, template, "does not contain \(variable), which other languages have")
        }
      }
    }
  }

  /// Variables with the declarations of a directory; without them if these have a problem, which is a finding.
  public mutating func variables(_ builtIn: TemplateVariables, in directory: String) -> TemplateVariables {
    do {
      return try builtIn.declared(in: directory)
    } catch {
      find(OwnVariable.fileName, "", error.message)
      return builtIn
    }
  }

  /// Adds a problem of a place in a file.
  public mutating func find(_ file: String, _ place: String, _ problem: String) {
    findings.append(TemplateFinding(file: file, place: place, problem: problem))
  }

  /// Adds a note on a place in a file.
  public mutating func note(_ file: String, _ place: String, _ text: String) {
    notes.append(TemplateFinding(file: file, place: place, problem: text))
  }
}

/// A problem of a template file.
public struct TemplateFinding: Sendable, Hashable, CustomStringConvertible {
  /// Name of the file, or of the directory for a problem of several files.
  public let file: String
  /// Place in the file, such as `verification.plain[0]`. Empty for the whole file.
  public let place: String
  /// The problem and its fix.
  public let problem: String

  public var description: String { place.isEmpty ? "\(file): \(problem)" : "\(file): \(place): \(problem)" }
}
