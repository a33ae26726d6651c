/// Where the receipts of all lanes go.
public protocol ReceiptSink: Sendable {
  /// Takes a receipt over, for instance by publishing it.
  ///
  /// The provider is told that its receipt was taken only when this returns true.
  ///
  /// - Returns: False when it could not be taken over: the provider is asked to report again later.
  func take(_ receipt: DeliveryReceipt) async -> Bool
}
