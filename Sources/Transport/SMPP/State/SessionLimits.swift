/// The bounds of a session.
struct SessionLimits: Sendable, Hashable {
  /// Messages under way at once.
  var window: Int
  /// Messages that wait for their turn.
  var maxWaiting: Int
  /// How long the server may take to let us in.
  var bindTimeout: Duration
  /// After so long a silence the server is asked whether it is there.
  var enquireInterval: Duration
  /// How long it may take to answer to that.
  var enquireTimeout: Duration = .seconds(10)
  /// Receipts being taken over at once; further ones are put off.
  var maxReceipts = 256
  /// How long a receipt waits for the response to its message.
  var receiptHold: Duration = .seconds(1)
  /// How long a server that ends the session has to answer to what is under way.
  var farewell: Duration = .seconds(2)
  /// A message that would have to wait longer for the end of a pause is given back: another way may be quicker.
  var longestWaitForPause: Duration = .seconds(1)
}
