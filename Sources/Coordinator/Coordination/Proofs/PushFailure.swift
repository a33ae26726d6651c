/// Meanings of the push worker's reasons.
enum PushFailure {
  /// The app was removed from the device, or has another token.
  static let unregistered = "UNREGISTERED"

  /// Reasons in the device token or in the app's statements about it: a further push to it would fail in the same way.
  private static let ofToken: Set = [unregistered, "BAD_DEVICE_TOKEN", "WRONG_ENVIRONMENT", "WRONG_TOPIC"]

  static func lies(inToken code: String) -> Bool {
    ofToken.contains(code)
  }
}
