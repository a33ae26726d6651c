import CountersignTelemetry

struct PendingBody: Sendable {
  /// Outcome of a body. Its caller is resumed with it after the group's commit.
  struct Outcome: Sendable {
    let error: StoreError?
    /// Resumes the caller: with the body's own result, or with the error that the whole group met.
    let resume: @Sendable (_ groupError: StoreError?) -> Void
  }

  /// Whether it must be undone by itself when it fails inside a group.
  let needsSavepoint: Bool
  let run: @Sendable (Session) -> Outcome
  /// Resumes the caller without having run.
  let refuse: @Sendable (StoreError) -> Void

  init<T: Sendable>(
    needsSavepoint: Bool = true,
    _ body: @escaping @Sendable (Session) throws(StoreError) -> T,
    _ continuation: CheckedContinuation<Result<T, StoreError>, Never>
  ) {
    self.needsSavepoint = needsSavepoint
    run = { session in
      do throws(StoreError) {
        let value = try body(session)
        return Outcome(error: nil) { error in
          continuation.resume(returning: error.map { .failure($0) } ?? .success(value))
        }
      } catch {
        // Its own error says more to the caller than the group's.
        return Outcome(error: error) { _ in continuation.resume(returning: .failure(error)) }
      }
    }
    refuse = { continuation.resume(returning: .failure($0)) }
  }
}
