import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.sendMailLink`: mails a link, or gives it to an administrator.
struct SendMailLinkOrder: KeyedOrder {
  private static let longestLanguage = 35

  let fingerprints: Fingerprints
  private let project: Project
  private let purpose: MailLinkPurpose
  private let email: String?
  private let newEmail: String?
  private let request: MailLinks.Request
  private let returnsLink: Bool
  private let asker: Asker
  private let address: ClientAddress?
  private let arrivedAt: UnixTime
  private let seal: ReplySeal
  private let runs = MailLinkRuns()
  private let eventID = MessageID.make()
  private let parts: AccountParts

  private enum Asker: Sendable {
    case anyone
    case user(CommandCaller)
    case administrator(AdministratorCheck)
  }

  /// An asker that has been checked.
  private enum Known {
    case anyone
    case user(IDTokenCheck.Holder)
    case administrator(Administrator)

    var isAdministrator: Bool { if case .administrator = self { true } else { false } }
  }

  init(
    _ command: SendMailLink, _ envelope: Envelope, at now: UnixTime, _ parts: AccountParts
  ) throws(APIError) {
    self.parts = parts
    let reader = parts.reader
    project = try reader.project(command.project)
    for app in [command.app, command.bundleID].compactMap({ $0 }) where project.app(id: app) == nil {
      throw .appNotFound
    }
    (purpose, arrivedAt) = (command.purpose, now)
    seal = try ReplySeal(key: command.replyKey, envelope, MailLinkSent.type)
    let text = try reader.open(command.addresses, "addresses", of: envelope, replyKey: command.replyKey)
    let addresses: MailLinkAddresses = try reader.content(of: text)
    email = try addresses.email.map { text throws(APIError) in try MailAddress.read(text) }
    newEmail = try addresses.newEmail.map { text throws(APIError) in try MailAddress.read(text) }
    address = try ClientAddress(of: command.client)
    returnsLink = command.returnsLink ?? false
    request = try Self.request(command, project)
    asker = try Self.asker(of: command, envelope, at: now, reader)
    var token = ""
    if case .user(let caller) = asker { token = caller.text }
    fingerprints = reader.fingerprints(
      of: command, [project.id, purpose.rawValue, text.reveal(), token, request.page?.url ?? "", "\(returnsLink)"])
    try checkForm()
  }

  private static func request(_ command: SendMailLink, _ project: Project) throws(APIError) -> MailLinks.Request {
    var request = MailLinks.Request()
    if let url = command.continueURL, !url.isEmpty {
      do throws(ContinuePage.Problem) {
        request.page = try ContinuePage(url, of: project)
      } catch {
        switch error {
        case .malformed: throw .invalidContinueURI("is not an address of https://")
        case .foreignHost: throw .unauthorizedDomain("continueURL")
        }
      }
    }
    request.opensInApp = command.opensInApp ?? false
    guard !request.opensInApp || request.page != nil else { throw .invalidContinueURI("is needed with opensInApp") }
    if let domain = command.linkDomain?.lowercased() {
      guard domain == project.authDomain || project.authorizedDomains.contains(domain) else {
        throw .unauthorizedDomain("linkDomain")
      }
      request.linkDomain = domain
    }
    request.languageCode = command.languageCode.flatMap { isLanguage($0) ? $0 : nil }
    return request
  }

  private static func isLanguage(_ code: String) -> Bool {
    !code.isEmpty && code.utf8.count <= longestLanguage
      && code.unicodeScalars.allSatisfy {
        $0 == "-" || $0.isASCII && $0.properties.isAlphabetic || ("0"..."9").contains($0)
      }
  }

  private static func asker(
    of command: SendMailLink, _ envelope: Envelope, at now: UnixTime, _ reader: CommandReader
  ) throws(APIError) -> Asker {
    if command.bearer != nil || command.returnsLink == true {
      return .administrator(
        try AdministratorCheck(
          bearer: command.bearer, project: command.project, role: .writeUsers, of: envelope,
          replyKey: command.replyKey, reader))
    }
    guard let token = command.idToken else { return .anyone }
    return .user(
      try CommandCaller(
        token, project: command.project, of: envelope, at: now, replyKey: command.replyKey, reader))
  }

  /// Refusals that need no store.
  private func checkForm() throws(APIError) {
    // Codes have one length.
    _ = try parts.mailLinks.url(purpose, code: Secret(String(repeating: "0", count: 43)), project, request)
    let isUser = if case .user = asker { true } else { false }
    switch purpose {
    case .signIn, .resetPassword: guard email != nil else { throw .missingEmail }
    case .verifyAddress, .changeAddress:
      if case .anyone = asker { throw .missingIDToken }
      guard isUser || email != nil else { throw .missingEmail }
      guard purpose == .verifyAddress || newEmail != nil else { throw .missingNewEmail }
    case .recoverAddress, .revertSecondFactor:
      throw APIError(.invalidArgument, "this mail goes out with the change that it takes back alone", field: "purpose")
    }
  }

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    if case .administrator(let check) = asker { check.addKeys(to: &keys) }
    ProjectSettings.addKeys(of: project.id, to: &keys)
    for address in [email, newEmail].compactMap({ $0 }) {
      keys.add(holderOf: try AccountRecord.key(ofEmail: address, project: project.id))
      keys.add(group: try AccountRecord.group(ofMailOff: address, project: project.id))
    }
  }

  // MARK: Carrying out

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let asker: Known
    switch try known(in: set) {
    case .failure(let error): return CommandAnswer(error)
    case .success(let found): asker = found
    }
    if let error = refusalOfMethod { return CommandAnswer(error) }
    guard let to = recipient(asker) else { return CommandAnswer(.missingEmail) }
    let limits = limits(to, asker)
    if let refusal = try limits.refusal(in: set) { return parts.reader.refuse(refusal, in: &set) }
    switch try aim(at: to, asker, in: set) {
    case .refuse(let error):
      if !asker.isAdministrator { try limits.count(in: &set) }
      return CommandAnswer(error)
    case .nothing:
      try limits.count(in: &set)
      try workUnsent(to, envelope, in: &set)
      return try CommandAnswer(MailLinkSent(email: to))
    case .account(let content, let account):
      try limits.count(in: &set)
      if case .administrator(let administrator) = asker {
        try ActRecord.note(
          "mailLink", by: administrator, project: project.id, localID: account?.localID, count: nil, id: eventID,
          cause: envelope, in: &set)
      }
      return try finish(content, to: to, envelope, in: &set)
    }
  }

  /// End of the work for a mail that is not sent.
  private enum Unsent: Error {
    case made
    case failed(StoreError)
  }

  /// Does the same work as for a mail, to no effect: time must not tell which addresses have an account.
  private func workUnsent(_ to: String, _ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) {
    do throws(Unsent) {
      try set.attempt { (set: inout WorkingSet) throws(Unsent) in
        do throws(StoreError) { _ = try finish(content(for: nil, to), to: to, envelope, in: &set) } catch {
          throw .failed(error)
        }
        throw .made
      }
    } catch {
      if case .failed(let error) = error { throw error }
    }
  }

  private func known(in set: WorkingSet) throws(StoreError) -> Result<Known, APIError> {
    switch asker {
    case .anyone: .success(.anyone)
    case .user(let caller): try caller.holder(in: set, parts.rules.sessions).map(Known.user)
    case .administrator(let check): try check.administrator(in: set).map(Known.administrator)
    }
  }

  private var refusalOfMethod: APIError? {
    let method: Project.Method? =
      switch purpose {
      case .signIn: .emailLink
      case .resetPassword: .password
      case .verifyAddress, .changeAddress, .recoverAddress, .revertSecondFactor: nil
      }
    return method.flatMap { project.methods.contains($0) ? nil : .methodOff($0) }
  }

  private func recipient(_ asker: Known) -> String? {
    if purpose == .changeAddress { return newEmail }
    if purpose == .verifyAddress, case .user(let holder) = asker { return holder.account.address?.email }
    return email
  }

  private func limits(_ to: String, _ asker: Known) -> LimitBench {
    var rows = returnsLink ? [] : Limit.mailLinks
    // The network of an administrator is that of a server.
    if asker.isAdministrator { rows.removeAll { $0 == .mailLinksPerNetwork } }
    return parts.reader.limits(
      rows, of: LimitSubject(project: project.id, address: address, mailAddress: to.normalizedAddress))
  }

  private func finish(
    _ content: MailLinkTicket, to: String, _ envelope: Envelope, in set: inout WorkingSet
  ) throws(StoreError) -> CommandAnswer {
    let text = try parts.reader.tickets.text(seed: runs.seed)
    let link: MailLink
    do throws(APIError) {
      link = try self.link(text)
    } catch {
      return CommandAnswer(error)
    }
    try parts.mailLinks.issue(content, text, project, runs, in: &set)
    guard !returnsLink else { return try answer(link, text, to: to) }
    let mail = LinkMail(link: link.url, purpose: purpose, address: to, languageCode: request.languageCode)
    try parts.mailLinks.send(mail, project, runs, envelope, in: &set)
    return try CommandAnswer(MailLinkSent(email: to))
  }

  private func link(_ text: TicketText) throws(APIError) -> MailLink {
    MailLink(
      code: text.secret.reveal(), url: try parts.mailLinks.url(purpose, code: text.secret, project, request))
  }

  /// Answer to an administrator who gets the link. The note makes it once more.
  private func answer(_ link: MailLink, _ text: TicketText, to: String) throws(StoreError) -> CommandAnswer {
    var reply = MailLinkSent(email: to)
    reply.link = try sealed(link)
    var answer = try CommandAnswer(reply)
    answer.note = text.seed + Array(to.utf8)
    return answer
  }

  private func sealed(_ link: MailLink) throws(StoreError) -> SecretField {
    let text: Secret
    do throws(ContractProblem) {
      text = try link.text()
    } catch {
      throw StoreError(.content, "a link cannot be written: \(error)")
    }
    return try seal.once(text)
  }

  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer {
    let seed = Array(note.prefix(TicketText.seedLength))
    let to = String(decoding: note.dropFirst(TicketText.seedLength), as: UTF8.self)
    let texts = parts.reader.tickets.texts(seed: seed)
    let records = try set.each(texts.map(\.id)) { id throws(StoreError) in try set.record(id) }
    guard let text = zip(texts, records).first(where: { $0.1 != nil })?.0 ?? texts.first else {
      throw StoreError.unreadableBody
    }
    let link: MailLink
    do throws(APIError) {
      link = try self.link(text)
    } catch {
      return CommandAnswer(error)
    }
    return try answer(link, text, to: to)
  }
}

// MARK: - Whom a link is for

extension SendMailLinkOrder {
  private enum Aim {
    /// A link that does something. The account is `nil` for a new user.
    case account(MailLinkTicket, AccountRecord?)
    /// No mail, although the answer says so: it would tell whether an account has the address.
    case nothing
    case refuse(APIError)
  }

  private func aim(at to: String, _ asker: Known, in set: WorkingSet) throws(StoreError) -> Aim {
    let protects = try ProjectSettings.find(project, in: set).protectsAddresses
    switch (purpose, asker) {
    case (.signIn, _): return .account(try content(for: holder(of: to, in: set), to), try holder(of: to, in: set))
    case (.resetPassword, _):
      guard let account = try holder(of: to, in: set), account.isReached(at: to),
        !account.resetsNothing(at: to, at: set.now)
      else {
        return protects && !asker.isAdministrator ? .nothing : .refuse(.unknownAddress)
      }
      return .account(content(for: account, to), account)
    case (.changeAddress, .user(let holder)): return try change(of: holder, to: to, protects, in: set)
    case (_, .user(let holder)): return .account(content(for: holder.account, to), holder.account)
    default:
      // An administrator names the account by the address that it has.
      guard let email, let account = try holder(of: email, in: set), account.isReached(at: email) else {
        return .refuse(.unknownAddress)
      }
      guard purpose == .changeAddress else { return .account(content(for: account, to), account) }
      return try isFree(to, for: account, in: set)
        ? .account(content(for: account, email, newEmail: to), account) : .refuse(.addressTaken)
    }
  }

  private func change(
    of holder: IDTokenCheck.Holder, to: String, _ protects: Bool, in set: WorkingSet
  ) throws(StoreError) -> Aim {
    do throws(APIError) {
      try holder.require(.changeOfCredential, parts.reader.project(project.id).recentLogin, at: arrivedAt)
    } catch {
      return .refuse(error)
    }
    guard try isFree(to, for: holder.account, in: set) else { return protects ? .nothing : .refuse(.addressTaken) }
    var content = content(for: holder.account, holder.account.address?.email ?? to, newEmail: to)
    content.session = holder.session.id.text
    return .account(content, holder.account)
  }

  private func isFree(_ address: String, for account: AccountRecord, in set: WorkingSet) throws(StoreError) -> Bool {
    try holder(of: address, in: set).map { $0.id == account.id } ?? true
  }

  private func holder(of address: String, in set: WorkingSet) throws(StoreError) -> AccountRecord? {
    try AccountRecord.find(holderOf: AccountRecord.key(ofEmail: address, project: project.id), in: set)
  }

  private func content(for account: AccountRecord?, _ email: String, newEmail: String? = nil) -> MailLinkTicket {
    var content = MailLinkTicket(purpose, email: email, of: account)
    content.newEmail = newEmail
    return content
  }
}

extension APIError {
  static let unknownAddress = APIError(.emailNotFound, "no account has the address", field: "email")
  static let missingNewEmail = APIError(.missingNewEmail, "the new address is needed", field: "newEmail")

  static func unauthorizedDomain(_ field: String) -> APIError {
    APIError(
      .unauthorizedDomain, "\(field) has a host that is not one of the project: add it to authorizedDomains",
      field: field)
  }
}
