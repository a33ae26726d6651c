import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// Links that are mailed: their addresses, and the jobs that mail them.
struct MailLinks: Sendable {
  /// Maximum length of a link, as the mail-worker has it.
  static let longest = 900
  private static let longestDelivery = Duration.seconds(86_400)

  let hashes: AccountHashes
  let tickets: Tickets
  let sealer: Sealer

  /// A link as it is asked for.
  struct Request: Sendable {
    /// Page to go on to.
    var page: ContinuePage?
    /// Whether the app opens the link itself, which then is that of the page.
    var opensInApp = false
    /// Host of the link.
    var linkDomain: String?
    var languageCode: String?
  }

  // MARK: Address

  /// - Throws: `INVALID_CONTINUE_URI` for a page whose link is too long, and `OPERATION_NOT_ALLOWED` for a project
  ///   without a page for links.
  func url(
    _ purpose: MailLinkPurpose, code: Secret, _ project: Project, _ request: Request
  ) throws(APIError) -> String {
    var parameters = "mode=\(purpose.mode)&oobCode=\(code.reveal())"
    if let key = project.apiKeys.min() { parameters += "&apiKey=\(PercentEncoding.encode(key))" }
    if let page = request.page, !request.opensInApp { parameters += "&continueUrl=\(PercentEncoding.encode(page.url))" }
    if let language = request.languageCode { parameters += "&lang=\(PercentEncoding.encode(language))" }
    let url: String
    if request.opensInApp, let page = request.page {
      url = page.adding(parameters)
    } else {
      guard let base = base(project, request) else { throw .noActionPage }
      url = base + "?" + parameters
    }
    guard url.utf8.count <= Self.longest else { throw .invalidContinueURI("makes a link that is too long") }
    return url
  }

  private func base(_ project: Project, _ request: Request) -> String? {
    if let domain = request.linkDomain { return Self.page(on: domain) }
    return project.mail.actionURL ?? project.authDomain.map(Self.page)
  }

  private static func page(on host: String) -> String { "https://\(host)/__/auth/action" }

  // MARK: Mail

  /// Stores the ticket of a link.
  func issue(
    _ content: MailLinkTicket, _ text: TicketText, _ project: Project, _ runs: MailLinkRuns, in set: inout WorkingSet
  ) throws(StoreError) {
    try tickets.issue(
      NewTicket(
        text: text, purpose: .mailLink, content: content, project: project.id, lifetime: content.purpose.lifetime,
        afterlife: MailLinkTicket.afterlife), seals: runs.tickets, in: &set)
  }

  /// Sends the mail with the transaction, unless the user has switched the relay of the address off.
  func send(
    _ mail: LinkMail, _ project: Project, _ runs: MailLinkRuns, _ cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    let (link, purpose, address) = (mail.link, mail.purpose, mail.address)
    guard try set.group(AccountRecord.group(ofMailOff: address, project: project.id)).records.isEmpty else { return }
    // A command that is carried out again mails nothing twice.
    let id = hashes.id("mail", [cause.identity.key, purpose.rawValue])
    let context = SealContext(messageType: MailRelayJob.type, messageID: id, recipient: address)
    let sealed = try runs.links.value(of: link) { () throws(StoreError) in
      do throws(SealError) {
        return try sealer.seal(Secret(link), for: context)
      } catch {
        throw StoreError(.content, "the link of a mail \(error)")
      }
    }
    let deadline = set.now + min(purpose.lifetime / 2, Self.longestDelivery)
    let variables = MailRelayJob.Variables(
      link: sealed, appName: project.mail.appName ?? project.id, secondFactor: mail.factor?.mailedName,
      custom: project.mail.variables.isEmpty ? nil : project.mail.variables)
    let job = MailRelayJob(
      to: address, from: project.mail.from,
      content: .template(name: purpose.template, languageCode: mail.languageCode, variables: variables),
      deadline: deadline)
    var message = OutgoingMessage.job(
      MailRelayJob.type, id: id, correlationID: id, cause: cause, deadline: deadline, body: try job.written(),
      at: set.now)
    // The ID of a command that yields secrets is the requester's alone.
    message.causationID = nil
    try set.send(message)
  }

  // MARK: Taking a change back

  /// Mails a link to the address that an account had before, if it was proven: it takes the change back. Another one may
  /// have been mistyped, and would give the account to a stranger.
  func announceChange(
    of before: AccountRecord, to account: AccountRecord, _ project: Project, languageCode: String? = nil,
    _ runs: MailLinkRuns, cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    guard let old = before.email, before.isEmailVerified, before.isAddressTrusted(at: set.now), let new = account.email,
      new.normalizedAddress != old.normalizedAddress
    else { return }
    var content = MailLinkTicket(.recoverAddress, email: old, of: before)
    (content.newEmail, content.phoneNumber) = (new, before.phoneNumber)
    try mailUndo(content, project, languageCode: languageCode, runs, cause, in: &set)
  }

  /// Mails a link to the address of an account that has a new second factor: it takes the factor back.
  func announce(
    _ factor: SecondFactor, of account: AccountRecord, _ project: Project, _ runs: MailLinkRuns, cause: Envelope,
    in set: inout WorkingSet
  ) throws(StoreError) {
    guard let address = account.trustedAddress(at: set.now) else { return }
    var content = MailLinkTicket(.revertSecondFactor, email: address, of: account)
    content.enrollmentID = factor.enrollmentID
    try mailUndo(content, of: factor, project, runs, cause, in: &set)
  }

  private func mailUndo(
    _ content: MailLinkTicket, of factor: SecondFactor? = nil, _ project: Project, languageCode: String? = nil,
    _ runs: MailLinkRuns, _ cause: Envelope, in set: inout WorkingSet
  ) throws(StoreError) {
    let text = try tickets.text(seed: runs.seed)
    let request = Request(languageCode: languageCode)
    // Without a page for links there is no mail: the change stands.
    guard let url = try? url(content.purpose, code: text.secret, project, request) else { return }
    try issue(content, text, project, runs, in: &set)
    let mail = LinkMail(
      link: url, purpose: content.purpose, address: content.email, languageCode: languageCode, factor: factor)
    try send(mail, project, runs, cause, in: &set)
  }
}

/// Mail with a link.
struct LinkMail {
  let link: String
  let purpose: MailLinkPurpose
  let address: String
  var languageCode: String?
  /// Second factor that it tells of.
  var factor: SecondFactor?
}

extension AccountRecord {
  /// Whether its own address was put on it with a recent sign-in, or a day ago.
  fileprivate func isAddressTrusted(at now: UnixTime) -> Bool { emailTrustedFrom.map { $0 <= now } ?? true }

  /// A proven address that was not put on it without a recent sign-in.
  fileprivate func trustedAddress(at now: UnixTime) -> String? {
    if let email, isEmailVerified, isAddressTrusted(at: now) { return email }
    let proven = identities.filter { $0.isEmailVerified && $0.email != nil && $0.isTrusted(at: now) }
    return (proven.first(where: \.ownsEmail) ?? proven.first)?.email
  }
}

/// Values that all runs of a command with a link share.
struct MailLinkRuns: Sendable {
  let seed = SecureRandom.bytes(TicketText.seedLength)
  let tickets = Once<RecordID, String>()
  let links = Once<String, SecretField>()
}

extension MailLinkPurpose {
  /// `mode` of the link.
  fileprivate var mode: String {
    switch self {
    case .signIn: "signIn"
    case .verifyAddress: "verifyEmail"
    case .resetPassword: "resetPassword"
    case .changeAddress: "verifyAndChangeEmail"
    case .recoverAddress: "recoverEmail"
    case .revertSecondFactor: "revertSecondFactorAddition"
    }
  }

  /// Template of the mail-worker.
  fileprivate var template: String {
    switch self {
    case .signIn: "sign-in-link"
    case .verifyAddress: "address-verification"
    case .resetPassword: "password-reset"
    case .changeAddress: "address-change"
    case .recoverAddress: "address-recovery"
    case .revertSecondFactor: "second-factor-reversal"
    }
  }
}

extension APIError {
  static let noActionPage = APIError(
    .operationNotAllowed, "the project has no page for links: set its authDomain or mail.actionURL", field: "project",
    reason: "NO_ACTION_PAGE")

  static func invalidContinueURI(_ rule: String) -> APIError {
    APIError(.invalidContinueURI, "continueURL \(rule)", field: "continueURL")
  }
}
