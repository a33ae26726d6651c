// swift-tools-version: 6.2

import PackageDescription

/// Settings of every Swift target.
let swiftSettings: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),  // SE-0335
  .enableUpcomingFeature("MemberImportVisibility"),  // SE-0444
  .enableUpcomingFeature("InternalImportsByDefault"),  // SE-0409
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),  // SE-0461
  .enableUpcomingFeature("InferIsolatedConformances"),  // SE-0470
]

/// A library of this package in `Sources/<path>`; its tests, if it has any, are in `Tests/<path>Tests`.
func library(_ name: String, at path: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, path: "Sources/\(path)", swiftSettings: swiftSettings)
}

/// An executable: parses its arguments and wires libraries, nothing else.
func executable(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: "Sources/Programs/\(name)", swiftSettings: swiftSettings)
}

/// The tests of the library `module` in `Tests/<path>Tests`.
func tests(_ module: String, at path: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .testTarget(
    name: "\(module)Tests", dependencies: [.byName(name: module), "TestSupport"] + dependencies,
    path: "Tests/\(path)Tests", swiftSettings: swiftSettings)
}

/// The system libraries. Each is imported by one Swift module only.
let systemLibraries: [Target] = [
  .systemLibrary(
    name: "CRabbitMQ", path: "Sources/C/CRabbitMQ", pkgConfig: "librabbitmq", providers: [.apt(["librabbitmq-dev"])]),
  .systemLibrary(
    name: "CCurl", path: "Sources/C/CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
  .systemLibrary(
    name: "CSQLite", path: "Sources/C/CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
  .systemLibrary(
    name: "COpenSSL", path: "Sources/C/COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
  .systemLibrary(name: "CCares", path: "Sources/C/CCares", pkgConfig: "libcares", providers: [.apt(["libc-ares-dev"])]),
  .systemLibrary(
    name: "COpenDKIM", path: "Sources/C/COpenDKIM", pkgConfig: "opendkim", providers: [.apt(["libopendkim-dev"])]),
  .systemLibrary(
    name: "CMicroHTTPD", path: "Sources/C/CMicroHTTPD", pkgConfig: "libmicrohttpd",
    providers: [.apt(["libmicrohttpd-dev"])]),
  .systemLibrary(
    name: "CSMPP34", path: "Sources/C/CSMPP34", pkgConfig: "libsmpp34", providers: [.apt(["libsmpp34-dev"])]),
  // A header of the C library.
  .systemLibrary(name: "CAllocator", path: "Sources/C/CAllocator"),
  // libphonenumber is C++ and has no .pc file in Debian: a shim with a C header stands before it.
  .target(
    name: "CPhoneNumber",
    path: "Sources/C/CPhoneNumber",
    linkerSettings: [.linkedLibrary("phonenumber"), .linkedLibrary("stdc++")]),
]

// From the bottom of the design to its top: a target depends on targets above it only.
let libraries: [Target] = [
  library("GuardedJSON", at: "Base/GuardedJSON"),
  library("AMQP", at: "Transport/AMQP", ["CRabbitMQ"]),
  library("CurlTransport", at: "Transport/CurlTransport", ["CCurl"]),
  library("SMPP", at: "Transport/SMPP", ["CSMPP34"]),
  library("JOSE", at: "Base/JOSE", ["COpenSSL", "GuardedJSON"]),
  library("DKIM", at: "Transport/DKIM", ["COpenDKIM"]),
  library("NameService", at: "Transport/NameService", ["CCares"]),
  library("PhoneNumbers", at: "Transport/PhoneNumbers", ["CPhoneNumber"]),
  library("Database", at: "Transport/Database", ["CSQLite"]),
  library("HTTPServer", at: "Transport/HTTPServer", ["CMicroHTTPD"]),
  library("Telemetry", at: "Base/Telemetry"),
  library("Messages", at: "Contract/Messages", ["AMQP", "GuardedJSON", "JOSE", "Telemetry"]),
  library(
    "ServiceRuntime", at: "Engines/ServiceRuntime",
    ["AMQP", "CAllocator", "GuardedJSON", "HTTPServer", "JOSE", "Messages", "Telemetry"]),
  library("NumberRules", at: "Engines/NumberRules", ["GuardedJSON", "PhoneNumbers", "ServiceRuntime"]),
  library("CrashMarks", at: "Engines/CrashMarks", ["AMQP", "Database", "JOSE", "Telemetry"]),
  library(
    "WorkerRuntime", at: "Engines/WorkerRuntime",
    [
      "AMQP", "CrashMarks", "CurlTransport", "Database", "GuardedJSON", "JOSE", "Messages", "ServiceRuntime",
      "Telemetry",
    ]),
  library(
    "SMSDispatch", at: "Workers/SMSDispatch",
    [
      "AMQP", "CrashMarks", "CurlTransport", "Database", "GuardedJSON", "HTTPServer", "JOSE", "Messages",
      "NumberRules", "PhoneNumbers", "ServiceRuntime", "SMPP", "Telemetry", "WorkerRuntime",
    ]),
  library(
    "TokenRevocation", at: "Workers/TokenRevocation",
    ["CurlTransport", "GuardedJSON", "JOSE", "Messages", "ServiceRuntime", "Telemetry", "WorkerRuntime"]),
  library(
    "PushVerification", at: "Workers/PushVerification",
    [
      "CurlTransport", "Database", "GuardedJSON", "JOSE", "Messages", "ServiceRuntime", "Telemetry", "WorkerRuntime",
    ]),
  library(
    "RelayMail", at: "Workers/RelayMail",
    [
      "CurlTransport", "DKIM", "Database", "GuardedJSON", "JOSE", "Messages", "ServiceRuntime", "Telemetry",
      "WorkerRuntime",
    ]),
  library(
    "Coordination", at: "Coordinator/Coordination",
    [
      "AMQP", "CrashMarks", "Database", "GuardedJSON", "JOSE", "Messages", "NumberRules", "PhoneNumbers",
      "ServiceRuntime", "Telemetry",
    ]),
  library("Client", at: "Contract/Client", ["AMQP", "JOSE", "Messages", "Telemetry"]),
  library(
    "Benchmarks", at: "Tools/Benchmarks", ["AMQP", "GuardedJSON", "HTTPServer", "JOSE", "Messages", "Telemetry"]),
  library(
    "Operations", at: "Tools/Operations",
    [
      "AMQP", "Benchmarks", "Client", "CurlTransport", "DKIM", "Database", "GuardedJSON", "JOSE", "Messages",
      "NameService",
      "PushVerification", "RelayMail", "ServiceRuntime", "SMSDispatch", "Telemetry",
    ]),
  library(
    "Simulation", at: "Tools/Simulation",
    ["CurlTransport", "GuardedJSON", "HTTPServer", "JOSE", "ServiceRuntime", "Telemetry"]),
]

let executables: [Target] = [
  executable("countersign", ["Operations", "ServiceRuntime", "Telemetry"]),
  executable("simulator", ["ServiceRuntime", "Simulation", "Telemetry"]),
  executable("coordinator", ["Coordination", "ServiceRuntime"]),
  executable("mail-worker", ["RelayMail", "ServiceRuntime", "WorkerRuntime"]),
  executable("sms-worker", ["SMSDispatch", "ServiceRuntime", "WorkerRuntime"]),
  executable("revocation-worker", ["ServiceRuntime", "TokenRevocation", "WorkerRuntime"]),
  executable("push-worker", ["PushVerification", "ServiceRuntime"]),
]

let testTargets: [Target] = [
  // Shared by the tests of several libraries.
  .target(name: "TestSupport", path: "Tests/Support", swiftSettings: swiftSettings),
  tests(
    "Operations", at: "Tools/Operations",
    ["Messages", "NameService", "PushVerification", "RelayMail", "ServiceRuntime", "Telemetry"]),
  tests("NameService", at: "Transport/NameService"),
  tests("Benchmarks", at: "Tools/Benchmarks", ["CurlTransport", "HTTPServer"]),
  tests("CrashMarks", at: "Engines/CrashMarks", ["AMQP", "Database", "Telemetry"]),
  tests(
    "Coordination", at: "Coordinator/Coordination",
    ["AMQP", "CrashMarks", "Database", "JOSE", "Messages", "PhoneNumbers", "ServiceRuntime", "Telemetry"]),
  tests("CurlTransport", at: "Transport/CurlTransport", ["CCurl", "HTTPServer"]),
  tests("SMPP", at: "Transport/SMPP"),
  tests("HTTPServer", at: "Transport/HTTPServer"),
  tests("Simulation", at: "Tools/Simulation", ["CurlTransport", "HTTPServer", "JOSE", "Telemetry"]),
  tests("Telemetry", at: "Base/Telemetry"),
  tests("Client", at: "Contract/Client", ["AMQP", "JOSE", "Messages", "Telemetry"]),
  tests(
    "ServiceRuntime", at: "Engines/ServiceRuntime",
    ["AMQP", "CurlTransport", "HTTPServer", "JOSE", "Messages", "Telemetry"]),
  tests("Messages", at: "Contract/Messages", ["AMQP", "JOSE", "Telemetry"]),
  tests(
    "WorkerRuntime", at: "Engines/WorkerRuntime",
    ["AMQP", "CrashMarks", "CurlTransport", "Database", "Messages", "ServiceRuntime", "Telemetry"]),
  tests(
    "SMSDispatch", at: "Workers/SMSDispatch",
    [
      "AMQP", "CrashMarks", "CurlTransport", "HTTPServer", "JOSE", "Messages", "PhoneNumbers", "ServiceRuntime",
      "Simulation", "SMPP",
      "Telemetry", "WorkerRuntime",
    ]),
  tests(
    "TokenRevocation", at: "Workers/TokenRevocation",
    [
      "AMQP", "CurlTransport", "HTTPServer", "JOSE", "Messages", "ServiceRuntime", "Simulation", "Telemetry",
      "WorkerRuntime",
    ]),
  tests(
    "PushVerification", at: "Workers/PushVerification",
    ["CurlTransport", "HTTPServer", "JOSE", "Messages", "ServiceRuntime", "Telemetry", "WorkerRuntime"]),
  tests(
    "RelayMail", at: "Workers/RelayMail",
    ["CurlTransport", "DKIM", "JOSE", "Messages", "ServiceRuntime", "Telemetry", "WorkerRuntime"]),
  tests("Database", at: "Transport/Database"),
  tests("JOSE", at: "Base/JOSE"),
  tests("GuardedJSON", at: "Base/GuardedJSON"),
  tests("AMQP", at: "Transport/AMQP"),
  // Needs a broker: COUNTERSIGN_TEST_AMQP_URL and COUNTERSIGN_TEST_BROKER_CTL.
  .testTarget(
    name: "AMQPIntegrationTests", dependencies: ["AMQP"], path: "Tests/Transport/AMQPIntegrationTests",
    swiftSettings: swiftSettings),
  tests("PhoneNumbers", at: "Transport/PhoneNumbers"),
]

let package = Package(
  name: "countersign",
  targets: systemLibraries + libraries + executables + testTargets,
  swiftLanguageModes: [.v6],
  cxxLanguageStandard: .cxx17
)
