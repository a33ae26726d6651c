import CountersignEncoding
import CountersignMessages
import Projects

/// Addresses as users type them.
enum MailAddress {
  /// The address without spaces around it, its letters as they were typed: keys have their own form.
  /// - Throws: `MISSING_EMAIL` or `INVALID_EMAIL`.
  static func read(_ text: String?) throws(APIError) -> String {
    let address = (text ?? "").trimmingSpaces
    guard !address.isEmpty else { throw .missingEmail }
    guard ProjectForms.isMailAddress(address) else { throw .invalidEmail }
    return address
  }
}

extension String {
  fileprivate var trimmingSpaces: String {
    var bytes = Array(utf8.drop { $0 == 0x20 })
    while bytes.last == 0x20 { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension APIError {
  static let missingEmail = APIError(.missingEmail, "an address is needed", field: "email")
  static let invalidEmail = APIError(.invalidEmail, "the address is not of the form name@example.com", field: "email")
}
