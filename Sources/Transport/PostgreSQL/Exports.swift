// The error of all of the module's calls.
@_exported public import struct CountersignTelemetry.StoreError
