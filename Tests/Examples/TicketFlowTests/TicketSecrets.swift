import CountersignCryptography
import CountersignEncoding
import CountersignMessages

/// Hashes and keys under the secret of the service.
struct TicketSecrets: Sendable {
  let key: [UInt8]
  /// Makes a PIN slow to guess for a thief of database and key.
  var rounds = 100_000

  func hash(_ parts: String...) -> [UInt8] {
    var framed = FieldCoder()
    for part in parts { _ = framed.optional(0, part) }
    return HMACSHA256.authenticate(framed.bytes, key: key)
  }

  func slowHash(ofPIN pin: String, of ticketID: String) async -> [UInt8] {
    var hash = hash("pin", ticketID, pin)
    for round in 0..<rounds where !Task.isCancelled {
      hash = HMACSHA256.authenticate(hash, key: key)
      if round % 1_000 == 0 { await Task.yield() }
    }
    return hash
  }
}

extension APIError {
  static let invalidHolder = APIError(.invalidArgument, "holder must be a mail address", field: "holder")
  static let unknownTicket = APIError(.invalidSessionInfo, "there is no such ticket", field: "ticketID")
  static let ticketOver = APIError(.sessionExpired, "the ticket is closed or too old")
  static let wrongPIN = APIError(.invalidCode, "the PIN is wrong", field: "pin")
  static let tooManyPINs = APIError(.tooManyAttempts, "too many wrong PINs", retryAfter: 3600)
  static let alreadyWaiting = APIError(.tooManyAttempts, "the number is being verified", retryAfter: 30)
  static let noReply = APIError(.internalError, "the number could not be verified in time", retryAfter: 30)
}
