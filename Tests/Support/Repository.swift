/// The working copy that the tests are built from.
public enum Repository {
  /// Absolute path of the folder that `Package.swift` lies in.
  public static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
  /// Absolute path of `Config/`, the configuration that ships.
  public static let config = root + "/Config"
  /// Absolute path of `Tests/Fixtures/`.
  public static let fixtures = root + "/Tests/Fixtures"
}
