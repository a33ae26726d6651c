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

/// A library of this package; its tests, when it has some, are in `Tests/<name>Tests`.
func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: swiftSettings)
}

/// An executable: parses its arguments and wires libraries, nothing else.
func executable(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(name: name, dependencies: dependencies, swiftSettings: swiftSettings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .testTarget(
    name: "\(name)Tests", dependencies: [.byName(name: name)] + dependencies, swiftSettings: swiftSettings)
}

/// The system libraries. Each is imported by one Swift module only.
let systemLibraries: [Target] = [
  .systemLibrary(name: "CRabbitMQ", pkgConfig: "librabbitmq", providers: [.apt(["librabbitmq-dev"])]),
  .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
  .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
  .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
  .systemLibrary(name: "CCares", pkgConfig: "libcares", providers: [.apt(["libc-ares-dev"])]),
  .systemLibrary(name: "COpenDKIM", pkgConfig: "opendkim", providers: [.apt(["libopendkim-dev"])]),
  .systemLibrary(name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
  .systemLibrary(name: "CSMPP34", pkgConfig: "libsmpp34", providers: [.apt(["libsmpp34-dev"])]),
  // A header of the C library.
  .systemLibrary(name: "CAllocator"),
  // libphonenumber is C++ and has no .pc file in Debian: a shim with a C header stands before it.
  .target(
    name: "CPhoneNumber",
    linkerSettings: [.linkedLibrary("phonenumber"), .linkedLibrary("stdc++")]),
]

// From the bottom of the design to its top: a target depends on targets above it only.
let libraries: [Target] = [
  library("GuardedJSON"),
  library("AMQP", ["CRabbitMQ"]),
  library("CurlTransport", ["CCurl"]),
  library("SMPP", ["CSMPP34"]),
  library("JOSE", ["COpenSSL", "GuardedJSON"]),
  library("DKIM", ["COpenDKIM"]),
  library("NameService", ["CCares"]),
  library("PhoneNumbers", ["CPhoneNumber"]),
  library("Database", ["CSQLite"]),
  library("HTTPServer", ["CMicroHTTPD"]),
  library("Telemetry"),
  library("Messages", ["AMQP", "GuardedJSON", "JOSE", "Telemetry"]),
  library(
    "ServiceRuntime", ["AMQP", "CAllocator", "GuardedJSON", "HTTPServer", "JOSE", "Messages", "Telemetry"]),
  library("NumberRules", ["GuardedJSON", "PhoneNumbers", "ServiceRuntime"]),
  library("CrashMarks", ["AMQP", "Database", "JOSE", "Telemetry"]),
  library(
    "WorkerRuntime",
    [
      "AMQP", "CrashMarks", "CurlTransport", "Database", "GuardedJSON", "JOSE", "Messages", "ServiceRuntime",
      "Telemetry",
    ]),
  library(
    "SMSDispatch",
    [
      "AMQP", "CrashMarks", "CurlTransport", "Database", "GuardedJSON", "HTTPServer", "JOSE", "Messages",
      "NumberRules", "PhoneNumbers", "ServiceRuntime", "SMPP", "Telemetry", "WorkerRuntime",
    ]),
  library(
    "TokenRevocation",
    ["CurlTransport", "GuardedJSON", "JOSE", "Messages", "ServiceRuntime", "Telemetry", "WorkerRuntime"]),
  library(
    "PushVerification",
    [
      "CurlTransport", "Database", "GuardedJSON", "JOSE", "Messages", "ServiceRuntime", "Telemetry", "WorkerRuntime",
    ]),
  library(
    "RelayMail",
    [
      "CurlTransport", "DKIM", "Database", "GuardedJSON", "JOSE", "Messages", "ServiceRuntime", "Telemetry",
      "WorkerRuntime",
    ]),
  library(
    "Coordination",
    [
      "AMQP", "CrashMarks", "Database", "GuardedJSON", "JOSE", "Messages", "NumberRules", "PhoneNumbers",
      "ServiceRuntime", "Telemetry",
    ]),
  library("Client", ["AMQP", "JOSE", "Messages", "Telemetry"]),
  library("Benchmarks", ["AMQP", "GuardedJSON", "HTTPServer", "JOSE", "Messages", "Telemetry"]),
  library(
    "Operations",
    [
      "AMQP", "Benchmarks", "Client", "CurlTransport", "DKIM", "Database", "GuardedJSON", "JOSE", "Messages",
      "NameService",
      "PushVerification", "RelayMail", "ServiceRuntime", "SMSDispatch", "Telemetry",
    ]),
  library("Simulation", ["CurlTransport", "GuardedJSON", "HTTPServer", "JOSE", "ServiceRuntime", "Telemetry"]),
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
  tests("Operations", ["Messages", "NameService", "PushVerification", "RelayMail", "ServiceRuntime", "Telemetry"]),
  tests("NameService"),
  tests("Benchmarks", ["CurlTransport", "HTTPServer"]),
  tests("CrashMarks", ["AMQP", "Database", "Telemetry"]),
  tests(
    "Coordination",
    ["AMQP", "CrashMarks", "Database", "JOSE", "Messages", "PhoneNumbers", "ServiceRuntime", "Telemetry"]),
  tests("CurlTransport", ["CCurl", "HTTPServer"]),
  tests("SMPP"),
  tests("HTTPServer"),
  tests("Simulation", ["CurlTransport", "HTTPServer", "JOSE", "Telemetry"]),
  tests("Telemetry"),
  tests("Client", ["AMQP", "JOSE", "Messages", "Telemetry"]),
  tests("ServiceRuntime", ["AMQP", "CurlTransport", "HTTPServer", "JOSE", "Messages", "Telemetry"]),
  tests("Messages", ["AMQP", "JOSE", "Telemetry"]),
  tests(
    "WorkerRuntime", ["AMQP", "CrashMarks", "CurlTransport", "Database", "Messages", "ServiceRuntime", "Telemetry"]),
  tests(
    "SMSDispatch",
    [
      "AMQP", "CrashMarks", "CurlTransport", "HTTPServer", "JOSE", "Messages", "PhoneNumbers", "ServiceRuntime",
      "Simulation", "SMPP",
      "Telemetry", "WorkerRuntime",
    ]),
  tests(
    "TokenRevocation",
    [
      "AMQP", "CurlTransport", "HTTPServer", "JOSE", "Messages", "ServiceRuntime", "Simulation", "Telemetry",
      "WorkerRuntime",
    ]),
  tests(
    "PushVerification",
    ["CurlTransport", "HTTPServer", "JOSE", "Messages", "ServiceRuntime", "Telemetry", "WorkerRuntime"]),
  tests(
    "RelayMail",
    ["CurlTransport", "DKIM", "JOSE", "Messages", "ServiceRuntime", "Telemetry", "WorkerRuntime"]),
  tests("Database"),
  tests("JOSE"),
  tests("GuardedJSON"),
  tests("AMQP"),
  // Needs a broker: COUNTERSIGN_TEST_AMQP_URL and COUNTERSIGN_TEST_BROKER_CTL.
  .testTarget(name: "AMQPIntegrationTests", dependencies: ["AMQP"], swiftSettings: swiftSettings),
  tests("PhoneNumbers"),
]

let package = Package(
  name: "countersign",
  targets: systemLibraries + libraries + executables + testTargets,
  swiftLanguageModes: [.v6],
  cxxLanguageStandard: .cxx17
)
