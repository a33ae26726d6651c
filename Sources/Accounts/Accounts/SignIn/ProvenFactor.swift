import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// Something that a user has just proven: a number, or an identity at a provider.
protocol ProvenFactor: Sendable {
  var provider: SignInProvider { get }
  /// Method that the project must have on. `nil` where its own settings say whether it is.
  var method: Project.Method? { get }
  /// Its part of the answer.
  var identity: SignedInIdentity? { get }
  /// Key of the account that it opens.
  func key(project: String) throws(StoreError) -> UniqueKey
  /// Key of the account that has its address. `nil` for an address that is not compared.
  func addressKey(project: String) throws(StoreError) -> UniqueKey?
  /// Whether it owns its address: it opens the account that has it.
  var ownsAddress: Bool { get }

  /// Reason that it does not open the account that has it.
  func refusal(by holder: AccountRecord) -> APIError?
  /// Act of putting it on an account. `nil` for one that has it.
  func act(on account: AccountRecord) -> SensitiveAct?
  /// Whether an account has room for it.
  func fits(_ account: AccountRecord) -> Bool
  /// Reason that an account cannot have it, be it free or not.
  func refusal(ofLinkTo account: AccountRecord) -> APIError?
  /// Whether it is put on the account that has its address, by that alone.
  func joins(_ neighbor: AccountRecord) -> Bool
  /// Time from which its sign-ins count as recent on an account that it joined: the address is worth no more than the
  /// identity that owns it. `nil` for at once.
  func trustedFrom(on neighbor: AccountRecord, at now: UnixTime) -> UnixTime?
  /// Whether it takes its number from an account that never proved it, and which has an owner otherwise.
  func supersedes(_ holder: AccountRecord) -> Bool
  /// Whether a refusal uses it up.
  var isSpentByRefusal: Bool { get }

  /// Puts it on an account that does not have it.
  /// - Parameters:
  ///   - trustedFrom: time from which sign-ins by it count as recent. `nil` for at once.
  ///   - ownsAddress: whether the account has its address from now on.
  func put(on account: inout AccountRecord, trustedFrom: UnixTime?, ownsAddress: Bool, at now: UnixTime)
  /// Refresh token of the provider that came with it.
  var grant: ProviderGrant? { get }
  /// Proof by which it renews an account that asks for a second factor.
  var proof: FirstProof { get }
  /// Takes over what has changed since it was put on the account.
  func renew(_ account: inout AccountRecord, ownsAddress: Bool)

  /// Answer to a refusal that the user can do something about.
  func refuse(
    _ refusal: SignInRefusal, _ desk: RefusalDesk, in set: inout WorkingSet
  ) throws(StoreError) -> SignInOutcome
}

extension ProvenFactor {
  var method: Project.Method? { Project.Method(rawValue: provider.name) }

  var grant: ProviderGrant? { nil }

  func refusal(ofLinkTo account: AccountRecord) -> APIError? { nil }

  func addKeys(in project: String, to keys: inout StoreKeys) throws(StoreError) {
    ProjectSettings.addKeys(of: project, to: &keys)
    keys.add(holderOf: try key(project: project))
    if let key = try addressKey(project: project) { keys.add(holderOf: key) }
  }

  /// The account that has its address, and whether its own account alone has that from now on, unless another has it.
  func claim(
    in project: String, _ reader: CommandReader, _ set: WorkingSet
  ) throws(StoreError) -> (ownsAddress: Bool, neighbor: AccountRecord?) {
    let settings = try reader.rules.projects.current[project].map { project throws(StoreError) in
      try ProjectSettings.find(project, in: set)
    }
    guard settings?.allowsDuplicateEmails != true else { return (false, nil) }
    let neighbor = try addressKey(project: project).flatMap { key throws(StoreError) in
      try AccountRecord.find(holderOf: key, in: set)
    }
    return (ownsAddress, neighbor)
  }
}

/// Means to refuse something with a ticket.
struct RefusalDesk {
  let project: String
  let tickets: Tickets
  let answers: SignInAnswers
  let runs: SignInRuns

  func ticket(
    _ purpose: Ticket.Purpose, _ content: some FieldCoded, app: String?, isDue: Bool = false,
    in set: inout WorkingSet
  ) throws(StoreError) -> (text: TicketText, ticket: Ticket) {
    let text = try tickets.text(seed: runs.random.ticketSeed)
    let ticket = try tickets.issue(
      NewTicket(text: text, purpose: purpose, content: content, project: project, app: app, isDue: isDue),
      seals: runs.tickets, in: &set)
    return (text, ticket)
  }
}

/// Values that all runs of a sign-in share.
struct SignInRuns: Sendable {
  let random = RandomValues()
  /// By the command's identity.
  let seals = Once<String, ReplySeal>()
  let tickets = Once<RecordID, String>()
}

struct SignInOutcome {
  var answer: CommandAnswer
  /// Whether what was proven is used up.
  var usesProof: Bool
  /// Whether an account or a pending token has it from now on.
  var isProofKept = false

  /// A refusal for a reason that the proof has nothing to do with: it stays good.
  static func refused(_ error: APIError) -> SignInOutcome {
    SignInOutcome(answer: CommandAnswer(error), usesProof: false)
  }
}

extension APIError {
  static let identityAlreadyLinked = APIError(
    .identityAlreadyLinked,
    "the identity opens another account, or the account has another identity of this provider: sign in by it instead")
  static let emailExists = APIError(
    .emailExists, "another account has the address of the identity: sign in to that one, and link there")
}
