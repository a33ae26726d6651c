// swift-tools-version: 6.2

import PackageDescription

// A service that uses Countersign as its dependency. Built with the strictest settings that a service may have.
let package = Package(
  name: "client-package",
  dependencies: [
    .package(name: "countersign", path: "../..")
  ],
  targets: [
    .executableTarget(
      name: "VerifyNumber",
      dependencies: [.product(name: "CountersignClient", package: "countersign")],
      swiftSettings: [
        .treatAllWarnings(as: .error),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
