import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// The part of a sign-in that decides on its effect once the number is proven.
struct PhoneRequest: Sendable {
  var operation: SignInWithPhone.Operation
  /// The signed-in user, if the command has an ID token.
  var caller: IDTokenCheck?
  /// Whether the caller's sign-in was recent when the command arrived.
  var isRecent = false
  /// Public key for the secrets of the reply, as JSON.
  var replyKey: String

  /// Whether the number is put on the caller's account.
  var isLink: Bool { caller != nil && operation != .reauthenticate }

  /// Checks that the caller's sign-in allows putting a number on the account.
  func checkLink(
    to account: AccountRecord, number: String?, _ rules: Project.RecentLogin
  ) throws(APIError) {
    guard isLink, account.phoneNumber == nil || account.phoneNumber != number else { return }
    let act = account.phoneNumber == nil ? SensitiveAct.linking : .changeOfNumber
    try act.check(on: account, isRecent: isRecent, rules)
  }

  // MARK: Storing

  private enum Tag {
    static let operation: UInt8 = 1
    static let caller: UInt8 = 2
    static let replyKey: UInt8 = 3
    static let isRecent: UInt8 = 4
  }

  var bytes: [UInt8] {
    var body = FieldWriter()
    body.put(Tag.operation, operation.rawValue)
    body.put(Tag.caller, caller?.token.fields)
    body.put(Tag.replyKey, replyKey)
    body.put(Tag.isRecent, isRecent)
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
    isRecent = body.isSet(Tag.isRecent)
    if let fields = body.block(Tag.caller) { caller = IDTokenCheck(token: try VerifiedIDToken(fields: fields)) }
  }
}
