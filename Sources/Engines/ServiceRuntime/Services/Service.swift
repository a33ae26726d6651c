/// A long-lived part of a process.
///
/// `run()` is called once and returns when the part has ended; what the part needs while it lives are child tasks of it.
public protocol Service: Sendable {
  /// What it is called in logs: `consumer`, `http`.
  var name: String { get }

  /// Does the work until ``stop()`` is called or the task is cancelled.
  ///
  /// Waits patiently for what it needs from others: a broker that is away is no error. Returning before a stop was asked for
  /// ends the process, and so does throwing.
  /// - Throws: what the process cannot live with. An ``ExitingError`` decides the exit code.
  func run() async throws

  /// Asks the part to end in good order: take nothing new, finish what has begun. `run()` returns soon afterwards.
  ///
  /// May be called before `run()` got to do anything, and more than once.
  func stop() async
}
