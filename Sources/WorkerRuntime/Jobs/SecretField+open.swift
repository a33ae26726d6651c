public import JOSE
public import Messages
public import Telemetry

extension SecretField {
  /// Opens a secret of a job, or says what is wrong with it so that the job becomes a dead letter.
  ///
  /// - Parameters:
  ///   - keys: The keys that may open it; with an empty ring a sealed secret cannot be opened.
  ///   - context: The message that it came in.
  ///   - field: Its path in the body.
  public func open(
    with keys: KeyRing, for context: SealContext, field: String
  ) throws(ContractProblem) -> Secret {
    do throws(SealError) {
      return try open(with: keys, for: context)
    } catch {
      if keys.opening.isEmpty {
        throw ContractProblem(.unknownKey, field: field, "is sealed, and this worker has no keysFile")
      }
      if case .unknownKey = error { throw ContractProblem(.unknownKey, field: field, error.description) }
      throw ContractProblem(.sealMismatch, field: field, error.description)
    }
  }
}
