import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// Proof that a command presents to sign in.
enum PresentedCredential: Sendable {
  case pendingToken(ids: [RecordID])
  /// The app got it from the provider.
  case direct(IDPCredential, NamedProvider)
  /// The provider's page brought it.
  case page(IDPCredential, PageFlow, NamedProvider)

  /// - Throws: `INVALID_PROVIDER_ID`, or `INVALID_IDP_RESPONSE` for a state that is none.
  init(_ opened: IDPCredential, _ parts: AccountParts) throws(APIError) {
    if let token = opened.pendingToken, !token.isEmpty {
      self = .pendingToken(ids: parts.reader.tickets.ids(of: Secret(token)))
      return
    }
    let state = opened.state.flatMap { $0.isEmpty ? nil : $0 }
    var flow: PageFlow?
    if let state {
      flow = parts.pageStates.open(state)
      guard flow != nil else { throw .invalidIDPResponse("the state is not one of accounts: begin again") }
    }
    guard let id = flow?.provider ?? opened.providerID, let provider = NamedProvider(id, parts) else {
      throw .invalidProviderID
    }
    self = flow.map { .page(opened, $0, provider) } ?? .direct(opened, provider)
  }

  /// A pending token names its provider itself: see ``SignIn``.
  func check(_ project: Project, at now: UnixTime) throws(APIError) {
    switch self {
    case .pendingToken: return
    case .direct(_, let provider): try provider.check(project)
    case .page(let opened, let flow, let provider):
      try flow.check(opened, of: project, at: now)
      try provider.check(project)
    }
  }

  /// The credential. `nil` for a pending token.
  var opened: IDPCredential? {
    switch self {
    case .pendingToken: nil
    case .direct(let opened, _), .page(let opened, _, _): opened
    }
  }
}

/// Verification of a credential, in the stage of its command.
struct CredentialCheck: Sendable {
  let project: Project
  let parts: AccountParts

  /// `nil` for what is not verified: a pending token.
  func verify(
    _ credential: PresentedCredential, _ access: StageAccess
  ) async throws(StoreError) -> CheckedCredential? {
    let now = access.now()
    switch credential {
    case .pendingToken: return nil
    case .direct(let opened, let named):
      return try await checked(by: find(named, nil, access)) { provider in
        do throws(APIError) {
          return CheckedCredential(.success(try await provider.verify(opened, for: project, at: now)))
        } catch {
          return CheckedCredential(.failure(error))
        }
      }
    case .page(let opened, let flow, let named):
      return try await checked(by: find(named, flow, access)) { provider in
        guard let provider = provider as? any PageProvider else {
          return CheckedCredential(.failure(.providerHasNoPage(flow.provider)))
        }
        var checked = await provider.outcome(flow, with: opened, for: project, at: now)
        if case .success(var proven) = checked.identity {
          proven.countsOnce = flow.spent
          checked.identity = .success(proven)
        }
        return checked
      }
    }
  }

  private func checked(
    by found: Result<any IdentityProvider, APIError>, _ check: (any IdentityProvider) async -> CheckedCredential
  ) async -> CheckedCredential {
    switch found {
    case .success(let provider): await check(provider)
    case .failure(let error): CheckedCredential(.failure(error))
    }
  }

  /// A flow that has counted is not taken to its provider again, which would revoke what it gave for the code
  /// (RFC 6749, section 4.1.2).
  private func find(
    _ named: NamedProvider, _ flow: PageFlow?, _ access: StageAccess
  ) async throws(StoreError) -> Result<any IdentityProvider, APIError> {
    let used = flow.map { flow in
      [flow.spent, flow.refused].compactMap { UsedCredential($0, of: flow.provider) }
    }
    if used == nil, case .own(let provider) = named { return .success(provider) }
    var keys = StoreKeys()
    named.addKeys(of: project, to: &keys)
    for used in used ?? [] { keys.add(record: used.id) }
    return try await access.store.read(keys, at: access.now()) { [self] set throws(StoreError) in
      for used in used ?? [] where try used.isUsed(in: set) { return .failure(.duplicateCredential) }
      return try named.find(of: project, parts, in: set)
    }
  }
}
