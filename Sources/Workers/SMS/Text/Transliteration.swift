import CountersignEncoding
import FoundationEssentials
import JobEngine

/// Which characters may be replaced, and by what, so that a text stays in GSM 7 bit: data, in `Config/transliteration.json5`.
public struct Transliteration: Sendable, Hashable {
  private let replacements: [Character: String]

  /// A table larger than this is none.
  static let maxFileBytes = 64 * 1024

  /// - Parameter replacements: By the character that is replaced.
  /// - Throws: `.invalidTransliteration` when a key is not one character, or a replacement is not in GSM 7 bit.
  init(_ replacements: [String: String]) throws(SMSDispatchError) {
    var table: [Character: String] = [:]
    for (key, value) in replacements.sorted(by: { $0.key < $1.key }) {
      guard let character = key.first, key.count == 1 else {
        throw SMSDispatchError(.invalidTransliteration, "'\(key)' is not one character")
      }
      guard SMSText(value).encoding == .gsm7 else {
        throw SMSDispatchError(
          .invalidTransliteration, "the replacement of '\(key)' is not in the GSM 7 bit default alphabet")
      }
      table[character] = value
    }
    self.replacements = table
  }

  /// Reads a file: a JSON5 object of characters and replacements.
  ///
  /// - Throws: when it cannot be read or is wrong; the message names the file.
  public init(file: String) throws(SMSDispatchError) {
    do {
      let reader = JSONReader(maxBytes: Self.maxFileBytes, syntax: .json5)
      let data = try DataFile.read(file, maxBytes: Self.maxFileBytes)
      try self.init(reader.decode([String: String].self, from: data))
    } catch let error as WorkerError {
      throw SMSDispatchError(.unreadable, error.message)
    } catch let error as SMSDispatchError {
      throw SMSDispatchError(error.code, "\(file): \(error.message)")
    } catch {
      throw SMSDispatchError(.unreadable, "\(file): \(DecodingText.describe(error))")
    }
  }

  /// The text in another spelling; nil when that does not bring it into GSM 7 bit.
  public func apply(to text: SMSText) -> SMSText? {
    var spelling = ""
    for character in text.text { spelling += replacements[character] ?? String(character) }
    let result = SMSText(spelling)
    return result.encoding == .gsm7 ? result : nil
  }
}
