import CountersignMessages
import CountersignTelemetry
import Projects

/// Identity provider to whose page a browser may be sent.
protocol PageProvider: IdentityProvider {
  /// The client of the project that a flow uses: that of the app's platform, else the first.
  ///
  /// - Throws: the error of a provider without a client for pages.
  func pageClient(of project: Project, for app: ProjectApp?) throws(APIError) -> String

  /// Address of the page with its query. Suspends while discovery is fetched, so it runs in the stage of a command.
  ///
  /// - Parameter state: text that comes back with the answer.
  func pageAddress(
    _ flow: PageFlow, _ request: PageRequest, state: Secret, for project: Project
  ) async throws(APIError) -> Secret

  /// Exchanges the code, where there is one, and verifies what the page has brought. Suspends likewise.
  ///
  /// - Throws: `INVALID_IDP_RESPONSE`, or `INTERNAL_ERROR` with a time to try again.
  func finish(
    _ flow: PageFlow, with credential: IDPCredential, for project: Project, at now: UnixTime
  ) async throws(APIError) -> ProvenIdentity

  /// The same, with what a failure leaves.
  func outcome(
    _ flow: PageFlow, with credential: IDPCredential, for project: Project, at now: UnixTime
  ) async -> CheckedCredential
}

extension PageProvider {
  func outcome(
    _ flow: PageFlow, with credential: IDPCredential, for project: Project, at now: UnixTime
  ) async -> CheckedCredential {
    do throws(APIError) {
      return CheckedCredential(.success(try await finish(flow, with: credential, for: project, at: now)))
    } catch {
      return CheckedCredential(.failure(error))
    }
  }
}

/// Outcome of the check of a credential.
struct CheckedCredential: Sendable {
  var identity: Result<ProvenIdentity, APIError>
  /// Grant of a code that was exchanged for tokens which are refused.
  var lost: LostGrant?

  init(_ identity: Result<ProvenIdentity, APIError>, lost: LostGrant? = nil) {
    (self.identity, self.lost) = (identity, lost)
  }
}
