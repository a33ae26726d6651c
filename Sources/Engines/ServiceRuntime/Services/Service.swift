/// A long-lived part of a process.
///
/// `run()` is called once and returns when the part has ended; its own background work runs in child tasks of it.
public protocol Service: Sendable {
  /// Its name in logs: `consumer`, `http`.
  var name: String { get }

  /// Works until ``stop()`` is called or the task is canceled.
  ///
  /// It waits for absent resources: an absent broker is not an error. Returning before a stop was requested ends the
  /// process, and so does throwing.
  /// - Throws: a fatal error. An ``ExitingError`` decides the exit code.
  func run() async throws

  /// Asks the part to end regularly: accept nothing new, finish begun work. `run()` returns soon afterwards.
  ///
  /// May be called before `run()` has done anything, and more than once.
  func stop() async
}
