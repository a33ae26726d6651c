import CountersignTelemetry

struct SessionBody: Sendable {
  /// Outcome of a body. Its caller is resumed with it after the commit.
  struct Outcome: Sendable {
    let error: StoreError?
    /// Resumes the caller: with the body's own result, or with the error that its commit met.
    let resume: @Sendable (_ commitError: StoreError?) -> Void
  }

  let isTransaction: Bool
  let run: @Sendable (PostgreSQLSession) -> Outcome
  /// Resumes the caller without having run.
  let refuse: @Sendable (StoreError) -> Void

  init<T: Sendable>(
    isTransaction: Bool,
    _ body: @escaping @Sendable (PostgreSQLSession) throws(StoreError) -> T,
    _ continuation: CheckedContinuation<Result<T, StoreError>, Never>
  ) {
    self.isTransaction = isTransaction
    run = { session in
      do throws(StoreError) {
        let value = try body(session)
        return Outcome(error: nil) { error in
          continuation.resume(returning: error.map { .failure($0) } ?? .success(value))
        }
      } catch {
        // Its own error says more to the caller than the commit's.
        return Outcome(error: error) { _ in continuation.resume(returning: .failure(error)) }
      }
    }
    refuse = { continuation.resume(returning: .failure($0)) }
  }
}
