import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// The part of a sign-in that decides on its effect once something is proven.
struct SignInRequest: Sendable {
  /// The user that is signed in already.
  var caller: IDTokenCheck?
  /// Whether what is proven is put on the caller's account. Otherwise a caller is one that signs in again.
  var isLink: Bool
  /// Whether what opens no account makes one.
  var makesAccount: Bool
  /// Whether the caller's sign-in was recent when the command arrived.
  var isRecent = false
  /// A public key, as JSON.
  var replyKey: String

  /// - Parameter act: what a link is on the account. `nil` when it changes nothing.
  func check(_ act: SensitiveAct?, on account: AccountRecord, _ rules: Project.RecentLogin) throws(APIError) {
    guard isLink, let act else { return }
    try act.check(on: account, isRecent: isRecent, rules)
  }

  func addKeys(to keys: inout StoreKeys) throws(StoreError) {
    guard let caller else { return }
    caller.addKeys(to: &keys)
    if let account = caller.account { keys.add(group: try SessionRecord.group(ofAccount: account)) }
  }
}

extension SignInRequest: FieldCoded {
  init(_ fields: inout FieldCoder, _ request: Self?) throws(UnreadableFields) {
    caller = try fields.optional(1, request?.caller?.token).map(IDTokenCheck.init(token:))
    isLink = fields.flag(2, request?.isLink)
    makesAccount = fields.flag(3, request?.makesAccount)
    isRecent = fields.flag(4, request?.isRecent)
    replyKey = try fields.required(5, request?.replyKey)
  }
}
