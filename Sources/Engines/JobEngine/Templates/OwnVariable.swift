import CountersignEncoding
import CountersignMessages
import FoundationEssentials

/// Declaration of a variable of one's own, in `variables.json5` beside the templates.
public struct OwnVariable: KeyedPart, Sendable, Hashable {
  /// Maximum length of a value, in Unicode scalars.
  public let maxLength: Int
  /// Value for messages whose sender gives none. Without it, such a message is refused.
  public let `default`: String?
  /// Whether values may have what a phone takes for a link or an address. `false` if absent.
  public let allowsLinks: Bool?
  /// Whether values may have a number that a reader could take for the code. `false` if absent.
  public let allowsNumbers: Bool?

  public static let keys = ["maxLength", "default", "allowsLinks", "allowsNumbers"]

  init(
    maxLength: Int, default fallback: String? = nil, allowsLinks: Bool? = nil, allowsNumbers: Bool? = nil
  ) {
    self.maxLength = maxLength
    self.default = fallback
    self.allowsLinks = allowsLinks
    self.allowsNumbers = allowsNumbers
  }

  /// Problem of a value, without the value.
  func problem(with value: String) -> String? {
    if let problem = TemplateRules.line(value, maxLength: maxLength) { return problem }
    let signs = PhishingSigns(value)
    if allowsLinks != true, signs.hasLink || signs.domain != nil || signs.hasAt {
      return "has a link, a domain or an @, which its declaration does not allow (allowsLinks)"
    }
    if allowsNumbers != true, max(signs.digits, signs.longestNumber) >= PhishingSigns.fewestDigitsOfNumber {
      return "has digits that could be taken for the code, which its declaration does not allow (allowsNumbers)"
    }
    return nil
  }

  // MARK: The file

  static let fileName = "variables.json5"

  /// Reads the declarations of a directory. Without the file there are none.
  static func read(directory: String) throws(WorkerError) -> [TemplateVariable: Self] {
    let path = "\(directory)/\(fileName)"
    guard FileManager.default.fileExists(atPath: path) else { return [:] }
    let data = try DataFile.read(path, maxBytes: TemplateFiles.maxBytes)
    let file: [String: Strict<Self>]
    do {
      file = try JSONReader(maxBytes: TemplateFiles.maxBytes, syntax: .json5)
        .decode([String: Strict<Self>].self, from: data)
    } catch {
      throw WorkerError(.unreadable, "\(path): \(DecodingText.describe(error))")
    }
    var declared: [TemplateVariable: Self] = [:]
    for (name, variable) in file.sorted(by: { $0.key < $1.key }) {
      if let problem = variable.part.problem(ofName: name) {
        throw WorkerError(.invalidTemplate, "\(path): \(name)\(problem)")
      }
      declared[TemplateVariable(name)] = variable.part
    }
    return declared
  }

  private func problem(ofName name: String) -> String? {
    guard CustomVariables.isName(name) else {
      return ": is not a name: a letter, then letters and digits, at most \(CustomVariables.maxNameLength) of them"
    }
    guard !TemplateVariable.builtIn.contains(where: { $0.name.lowercased() == name.lowercased() }) else {
      return ": is the name of a built-in variable, take another"
    }
    let most = CustomVariables.maxValueLength
    guard (1...most).contains(maxLength) else { return ".maxLength: must be from 1 to \(most)" }
    return self.default.flatMap { problem(with: $0) }.map { ".default: \($0)" }
  }
}
