import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// The part of a sign-in that decides on its effect once the number is proven.
struct PhoneRequest: Sendable {
  var operation: SignInWithPhone.Operation
  /// The signed-in user, if the command has an ID token.
  var caller: IDTokenCheck?
  /// Public key for the secrets of the reply, as JSON.
  var replyKey: String

  /// Whether the number is put on the caller's account.
  var isLink: Bool { caller != nil && operation != .reauthenticate }

  // MARK: Storing

  private enum Tag {
    static let operation: UInt8 = 1
    static let caller: UInt8 = 2
    static let replyKey: UInt8 = 3
  }

  var bytes: [UInt8] {
    var body = FieldWriter()
    body.put(Tag.operation, operation.rawValue)
    body.put(Tag.caller, caller?.token.fields)
    body.put(Tag.replyKey, replyKey)
    return body.bytes
  }

  init(_ operation: SignInWithPhone.Operation, caller: IDTokenCheck?, replyKey: String) {
    self.operation = operation
    self.caller = caller
    self.replyKey = replyKey
  }

  init(_ bytes: [UInt8]) throws(StoreError) {
    let body = try FieldReader(bytes)
    operation = try body.required(body.word(Tag.operation, SignInWithPhone.Operation.self))
    replyKey = try body.required(body.text(Tag.replyKey))
    if let fields = body.block(Tag.caller) { caller = IDTokenCheck(token: try VerifiedIDToken(fields: fields)) }
  }
}
