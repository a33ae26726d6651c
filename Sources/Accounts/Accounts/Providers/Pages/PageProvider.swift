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
}
