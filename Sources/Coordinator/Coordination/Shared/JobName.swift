import CommandEngine
import CountersignEncoding
import FoundationEssentials

/// IDs of jobs: `<owner>.<kind>.<number>`, always the same for a job, so that it is carried out once.
struct JobName: Sendable, Hashable {
  enum Kind: String, Sendable {
    case push, captcha, revoke, notice
  }

  var owner: String
  var kind: Kind

  init(_ owner: String, _ kind: Kind) {
    self.owner = owner
    self.kind = kind
  }

  /// The `message_id`. Each operation has one job of a kind.
  var text: String { owner + suffix }

  private var suffix: String { ".\(kind.rawValue).1" }

  /// - Returns: `nil` for the job of another service.
  init?(parsing text: String, _ kind: Kind) {
    self.init("", kind)
    guard text.hasSuffix(suffix) else { return nil }
    owner = String(text.dropLast(suffix.count))
    guard !owner.isEmpty, owner.utf8.count <= VerificationID.maxLength else { return nil }
  }
}

/// Values that are stored as JSON: those that are rarely written and never searched for.
enum StoredJSON {
  static func text(_ value: some Encodable) throws(StoreError) -> String {
    do {
      return String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    } catch {
      throw StoreError(.content, "a value cannot be written as JSON")
    }
  }

  /// Far more than any record of the coordinator: bodies of messages have up to 64 KiB.
  private static let reader = JSONReader(maxBytes: 1 << 20)

  static func read<Content: Decodable>(_ text: String) throws(StoreError) -> Content {
    do {
      return try reader.decode(Content.self, from: text)
    } catch {
      throw StoreError(.content, "a value that is stored as JSON cannot be read")
    }
  }
}
