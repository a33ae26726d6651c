import CountersignEncoding
import FoundationEssentials
public import JobEngine

/// Replacements for characters that keep a text out of GSM 7 bit: data, in `Config/transliteration.json5`.
public struct Transliteration: Sendable, Hashable {
  private let replacements: [Character: String]

  static let maxFileBytes = 64 * 1024

  init(_ replacements: [String: String]) throws(WorkerError) {
    var table: [Character: String] = [:]
    for (key, value) in replacements.sorted(by: { $0.key < $1.key }) {
      guard let character = key.first, key.count == 1 else {
        throw WorkerError(.invalidTable, "'\(key)' is not one character")
      }
      guard SMSText(value).encoding == .gsm7 else {
        throw WorkerError(
          .invalidTable, "the replacement of '\(key)' is not in the GSM 7 bit default alphabet")
      }
      table[character] = value
    }
    self.replacements = table
  }

  /// Reads a file: a JSON5 object of characters and replacements.
  ///
  /// - Throws: when the file cannot be read or breaks a rule; the message names it.
  public init(file: String) throws(WorkerError) {
    let data = try DataFile.read(file, maxBytes: Self.maxFileBytes)
    let replacements: [String: String]
    do {
      replacements = try JSONReader(maxBytes: Self.maxFileBytes, syntax: .json5)
        .decode([String: String].self, from: data)
    } catch {
      throw WorkerError(.unreadable, "\(file): \(DecodingText.describe(error))")
    }
    do {
      try self.init(replacements)
    } catch {
      throw WorkerError(error.code, "\(file): \(error.message)")
    }
  }

  /// The text in another spelling. `nil` if that does not bring it into GSM 7 bit.
  public func apply(to text: SMSText) -> SMSText? {
    var spelling = ""
    for character in text.text { spelling += replacements[character] ?? String(character) }
    let result = SMSText(spelling)
    return result.encoding == .gsm7 ? result : nil
  }
}
