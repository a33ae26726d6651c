/// Limits of a session.
struct SessionLimits: Sendable, Hashable {
  /// Maximum submissions awaiting a response.
  var window: Int
  /// Maximum submissions waiting for the window.
  var maxWaiting: Int
  /// Time limit for the bind.
  var bindTimeout: Duration
  /// Silence after which an `enquire_link` is sent.
  var enquireInterval: Duration
  /// Time limit for the response to it.
  var enquireTimeout: Duration = .seconds(10)
  /// Maximum delivery reports being handled at once; the server is asked to repeat further ones.
  var maxReceipts = 256
  /// Time that a delivery report waits for the response to its submission.
  var receiptHold: Duration = .seconds(1)
  /// Time that a server which ends the session has for outstanding responses.
  var farewell: Duration = .seconds(2)
  /// A submission that would wait longer for the end of a pause is returned: another lane may be quicker.
  var longestWaitForPause: Duration = .seconds(1)
}
