import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// A code as a user gave it back, with the verification that it is said to be of.
struct GivenCode: Sendable {
  let project: String
  let app: String?
  let verificationID: String
  let code: Secret
  /// IPv4 or IPv6, for the coordinator's limits.
  let address: String?

  /// The longest code that is passed on: the coordinator looks at no more.
  private static let maxCodeBytes = 64

  init(
    _ code: Secret?, of session: Secret?, project: String, app: String?, client: StartVerification.Client?
  ) throws(APIError) {
    guard let session else { throw .missingSessionInfo }
    guard let code else { throw .missingCode }
    // The coordinator's are IDs of records.
    guard RecordID(PhoneCheck.kind, session.reveal()) != nil else { throw .unknownSession }
    guard code.reveal().utf8.count <= Self.maxCodeBytes else { throw .malformedCode }
    verificationID = session.reveal()
    self.code = code
    self.project = project
    self.app = app
    address = try ClientAddress(of: client) == nil ? nil : client?.ip
  }

  /// The code as the coordinator opens it.
  /// - Parameter messageID: that of the check.
  func sealed(under messageID: String, _ sealer: Sealer) throws(StoreError) -> SecretField {
    let context = SealContext(
      messageType: CheckVerification.type, messageID: messageID, recipient: verificationID)
    do throws(SealError) {
      return try sealer.seal(code, for: context)
    } catch {
      throw StoreError(.content, "the code of a check \(error)")
    }
  }
}

/// A code together with what it was sent for.
struct PhoneCode: Sendable {
  /// The check that all share who bring this code.
  let id: RecordID
  /// The check that those share who brought it under the pepper before the last change.
  private let formerIDs: [RecordID]
  let given: GivenCode
  let purpose: VerificationPurpose
  /// ID of the account's record, of a second factor.
  let subject: String?

  init(
    _ given: GivenCode, for purpose: VerificationPurpose, of subject: String? = nil, _ hashes: AccountHashes
  ) throws(APIError) {
    let parts = [given.project, given.app ?? "", given.verificationID, given.code.reveal(), purpose.rawValue]
    let ids = ([hashes] + hashes.former).compactMap {
      RecordID(PhoneCheck.kind, $0.id("phone check", parts + [subject ?? ""]))
    }
    guard let id = ids.first else { throw .unknownSession }
    self.id = id
    formerIDs = Array(ids.dropFirst())
    self.given = given
    self.purpose = purpose
    self.subject = subject
  }

  var ids: [RecordID] { [id] + formerIDs }

  func check(in set: WorkingSet) throws(StoreError) -> PhoneCheck? {
    for id in ids {
      if let check = try PhoneCheck.find(id, in: set) { return check }
    }
    return nil
  }
}
