import CommandEngine
import CountersignEncoding

/// Name of a service account, with its project.
struct ServiceAccountName: Sendable, Hashable {
  /// Form of a name, in words.
  static let form =
    "6 to 30 lower case letters, digits and hyphens, beginning with a letter and not ending with a hyphen"
  private static let host = ".iam.gserviceaccount.com"

  let name: String
  let project: String

  init(name: String, project: String) {
    self.name = name
    self.project = project
  }

  /// - Returns: `nil` for a text that is not the address of a service account.
  init?(email: String) {
    let parts = email.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1].hasSuffix(Self.host), Self.isName(String(parts[0])) else { return nil }
    name = String(parts[0])
    project = String(parts[1].dropLast(Self.host.count))
  }

  var email: String { "\(name)@\(project)\(Self.host)" }

  /// `nil` for a project of another form than projects have.
  var id: RecordID? { RecordID(ServiceAccountRecord.kind, "\(project)/\(name)") }

  static func isName(_ text: String) -> Bool {
    func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    let hyphen = UInt8(ascii: "-")
    guard (6...30).contains(text.utf8.count), let first = text.utf8.first, isLetter(first), !text.hasSuffix("-") else {
      return false
    }
    return text.utf8.allSatisfy { isLetter($0) || isDigit($0) || $0 == hyphen }
  }
}
