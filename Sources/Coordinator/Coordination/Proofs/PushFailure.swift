/// What the push worker's reasons mean here.
enum PushFailure {
  /// The app is not on the device any more, or has another token.
  static let unregistered = "UNREGISTERED"

  /// Reasons that lie in the device token or in what the app said of it: another push to it would end in the same way.
  private static let ofToken: Set = [unregistered, "BAD_DEVICE_TOKEN", "WRONG_ENVIRONMENT", "WRONG_TOPIC"]

  static func lies(inToken code: String) -> Bool {
    ofToken.contains(code)
  }
}
