@_exported public import CountersignMessages

@_exported public import struct CountersignAMQP.AMQPError
@_exported public import struct CountersignAMQP.BrokerEndpoint
@_exported public import struct CountersignAMQP.BrokerHost
@_exported public import enum CountersignAMQP.ConnectionEvent
@_exported public import struct CountersignAMQP.ConnectionStatus
@_exported public import struct CountersignAMQP.TLSSettings
@_exported public import struct CountersignCryptography.JOSEError
@_exported public import struct CountersignCryptography.KeyRing
@_exported public import struct CountersignTelemetry.Secret
@_exported public import struct CountersignTelemetry.UnixTime
