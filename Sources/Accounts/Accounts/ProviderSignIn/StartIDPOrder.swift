import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import ServiceRuntime

/// `account.startIdp`: makes the address of a provider's page, with the flow in its state. Nothing is stored but what
/// limits count.
struct StartIDPOrder: KeyedOrder {
  private static let secretLength = 32
  /// Longest address of a page: browsers and servers take that much, and a reply has room for it.
  private static let maxAddressBytes = 8192
  /// The address is sealed for the requester, and made once more where it asks again.
  private static let note: [UInt8] = [1]

  let fingerprints: Fingerprints
  private let project: Project
  private let app: ProjectApp?
  private let provider: NamedProvider
  private let providerID: String
  private let redirectURI: String
  private let request: PageRequest
  private let limits: LimitBench
  private let seal: ReplySeal
  private let parts: AccountParts
  /// Reason to refuse the command unless it was answered before.
  private let refusal: APIError?
  /// Outcome of the stage.
  private var address: Result<Secret, APIError>?

  init(_ command: StartIDPSignIn, _ envelope: Envelope, _ parts: AccountParts) throws(APIError) {
    self.parts = parts
    let reader = parts.reader
    project = try reader.project(command.project)
    app = try command.app.map { [project] id throws(APIError) in
      guard let app = project.app(id: id) else { throw .appNotFound }
      return app
    }
    guard let provider = NamedProvider(command.providerID, parts) else { throw .unknownProvider }
    (self.provider, providerID) = (provider, command.providerID)
    guard ProjectForms.isPageAddress(command.redirectURI) else { throw .invalidRedirectURI }
    redirectURI = command.redirectURI
    seal = try ReplySeal(key: command.replyKey, envelope, IDPSignInStarted.type)
    let text = try reader.open(command.request, "request", of: envelope, replyKey: command.replyKey)
    request = try PageRequest.read(text)
    limits = reader.limits(
      Limit.pageSignIns, of: LimitSubject(project: project.id, address: try ClientAddress(of: command.client)))
    fingerprints = reader.fingerprints(
      of: command, [project.id, command.app ?? "", providerID, redirectURI, text.reveal()])
    do throws(APIError) {
      try provider.check(project)
      refusal = nil
    } catch {
      refusal = error
    }
  }

  // MARK: Stage

  var stage: CommandStage? {
    guard refusal == nil else { return nil }
    return CommandStage(window: .providers, longest: ProviderSignInOrder.verificationLimit) {
      [self] access throws(StoreError) in
      var order = self
      order.address = try await make(access)
      return order
    }
  }

  private func make(_ access: StageAccess) async throws(StoreError) -> Result<Secret, APIError> {
    var keys = StoreKeys()
    provider.addKeys(of: project, to: &keys)
    try limits.addKeys(to: &keys, at: access.now())
    let found = try await access.store.read(keys, at: access.now()) {
      [self] set throws(StoreError) -> Result<any IdentityProvider, APIError> in
      if let refusal = try limits.refusal(in: set) { return .failure(APIError(refusal)) }
      return try provider.find(of: project, parts, in: set)
    }
    do throws(APIError) {
      guard let provider = try found.get() as? any PageProvider else { throw .providerHasNoPage(providerID) }
      return .success(try await address(at: provider, access.now()))
    } catch {
      return .failure(error)
    }
  }

  private func address(at provider: any PageProvider, _ now: UnixTime) async throws(APIError) -> Secret {
    let flow = PageFlow(
      project: project.id, provider: providerID, app: app?.id,
      clientID: try provider.pageClient(of: project, for: app), redirectURI: redirectURI,
      sessionHash: request.sessionHash, nonce: Self.secret(), verifier: Self.secret(), beganAt: now)
    guard let state = parts.pageStates.seal(flow) else { throw .invalidRedirectURI }
    let address = try await provider.pageAddress(flow, request, state: state, for: project)
    guard address.reveal().utf8.count <= Self.maxAddressBytes else {
      throw .invalidPageRequest("leads to an address that is too long: fewer or shorter parameters are needed")
    }
    return address
  }

  /// RFC 7636, section 4.1: 43 characters.
  private static func secret() -> String { Base64URL.encode(SecureRandom.bytes(secretLength)) }

  // MARK: Carrying out

  func addFirstKeys(to keys: inout StoreKeys, at now: UnixTime) throws(StoreError) {
    try limits.addKeys(to: &keys, at: now)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    if let refusal { return CommandAnswer(refusal) }
    if let refusal = try limits.refusal(in: set) { return parts.reader.refuse(refusal, in: &set) }
    // Those that fail have cost a look at the provider, too.
    try limits.count(in: &set)
    return try answer()
  }

  private func answer() throws(StoreError) -> CommandAnswer {
    switch address {
    case nil: return CommandAnswer(refusal ?? .providerUnreachable(providerID))
    case .failure(let error): return CommandAnswer(error)
    case .success(let address):
      var answer = try CommandAnswer(IDPSignInStarted(authURI: seal.once(address)))
      answer.note = Self.note
      return answer
    }
  }

  /// The stage has begun another flow, which is as good.
  func answerAgain(_ note: [UInt8], in set: inout WorkingSet) throws(StoreError) -> CommandAnswer { try answer() }
}

extension PageRequest {
  private static let sessionHashLength = 64

  /// - Throws: `INVALID_ARGUMENT`.
  fileprivate static func read(_ text: Secret) throws(APIError) -> PageRequest {
    let request: PageRequest
    do throws(ContractProblem) {
      request = try PageRequest(text: text)
    } catch {
      throw .invalidPageRequest("is not the JSON of one")
    }
    guard request.sessionHash.isMatched(by: \.isSmallHexadecimal, length: sessionHashLength...sessionHashLength) else {
      throw .invalidPageRequest("has no SHA-256 of a session ID, in small hexadecimal digits")
    }
    let scopes = request.scopes ?? []
    guard scopes.count <= OpenIDForms.maxScopes, scopes.allSatisfy(OpenIDForms.isScope) else {
      throw .invalidPageRequest("has too many scopes, or one that is none")
    }
    let parameters = request.parameters ?? [:]
    guard parameters.count <= OpenIDForms.maxParameters,
      parameters.allSatisfy({ OpenIDForms.isParameterName($0.key) && OpenIDForms.isParameterValue($0.value) })
    else { throw .invalidPageRequest("has too many parameters, or one that is too long") }
    return request
  }
}

extension Unicode.Scalar {
  fileprivate var isSmallHexadecimal: Bool { ("0"..."9").contains(self) || ("a"..."f").contains(self) }
}

extension APIError {
  fileprivate static let unknownProvider = APIError(
    .invalidProviderID, "accounts knows no such provider", field: "providerID")
  fileprivate static let invalidRedirectURI = APIError(
    .invalidArgument, "redirectURI is not an address of https:// without query and fragment", field: "redirectURI")

  fileprivate static func invalidPageRequest(_ problem: String) -> APIError {
    APIError(.invalidArgument, "the request of a page \(problem)", field: "request")
  }
}
