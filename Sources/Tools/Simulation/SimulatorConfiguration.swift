package import CountersignTelemetry
package import ServiceRuntime

/// Configuration of the executable. `Config/simulator.json5` explains each key.
package struct SimulatorConfiguration: Configuration {
  package let logLevel: LogLevel
  package let logFormat: LogFormat
  package let settings: SimulatorSettings

  package init(_ section: ConfigurationSection) {
    let logging = section.section("log")
    logLevel = logging.word("level", default: .info, "Events below it are not logged.")
    logFormat = logging.word("format", default: .text, "text for people, json for machines.")
    var settings = SimulatorSettings()
    settings.read(section)
    self.settings = settings
  }
}
