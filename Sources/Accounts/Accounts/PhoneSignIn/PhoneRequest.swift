import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// The part of a sign-in that decides on its effect once the number is proven.
struct PhoneRequest: Sendable {
  var operation: SignInWithPhone.Operation
  var caller: IDTokenCheck?
  /// Whether the caller's sign-in was recent when the command arrived.
  var isRecent = false
  /// A public key, as JSON.
  var replyKey: String

  var isLink: Bool { caller != nil && operation != .reauthenticate }

  func checkLink(
    to account: AccountRecord, number: String?, _ rules: Project.RecentLogin
  ) throws(APIError) {
    guard isLink, account.phoneNumber == nil || account.phoneNumber != number else { return }
    let act = account.phoneNumber == nil ? SensitiveAct.linking : .changeOfNumber
    try act.check(on: account, isRecent: isRecent, rules)
  }
}

extension PhoneRequest: FieldCoded {
  init(_ fields: inout FieldCoder, _ request: Self?) throws(UnreadableFields) {
    operation = try fields.required(1, request?.operation)
    caller = try fields.optional(2, request?.caller?.token).map(IDTokenCheck.init(token:))
    replyKey = try fields.required(3, request?.replyKey)
    isRecent = fields.flag(4, request?.isRecent)
  }
}
