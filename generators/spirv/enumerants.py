"""SPIR-V's numbers: instructions with their operands, and the enumerants of every operand kind the suite meets.

Facts of the SPIR-V unified grammar, in the spelling that spirv-dis prints. Each kind is one table; the opcode table also has
the pattern of operands, from which modules are disassembled and walked:

``T`` result type, ``R`` result, ``id`` an id, ``int`` ``str`` ``number`` literals (``number`` has the width of its type), ``ext`` an
extended instruction's number, ``opcode`` the opcode of OpSpecConstantOp, anything else an enumerant of that kind; ``?``
optional, ``*`` any number.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType

MAGIC = 0x07230203


class Op(enum.IntEnum):
    """Opcodes."""

    Nop = 0
    Undef = 1
    SourceContinued = 2
    Source = 3
    SourceExtension = 4
    Name = 5
    MemberName = 6
    String = 7
    Line = 8
    Extension = 10
    ExtInstImport = 11
    ExtInst = 12
    MemoryModel = 14
    EntryPoint = 15
    ExecutionMode = 16
    Capability = 17
    TypeVoid = 19
    TypeBool = 20
    TypeInt = 21
    TypeFloat = 22
    TypeVector = 23
    TypeMatrix = 24
    TypeArray = 28
    TypeRuntimeArray = 29
    TypeStruct = 30
    TypeOpaque = 31
    TypePointer = 32
    TypeFunction = 33
    TypeReserveId = 36
    TypeForwardPointer = 39
    ConstantTrue = 41
    ConstantFalse = 42
    Constant = 43
    ConstantComposite = 44
    ConstantNull = 46
    SpecConstantTrue = 48
    SpecConstantFalse = 49
    SpecConstant = 50
    SpecConstantComposite = 51
    SpecConstantOp = 52
    Function = 54
    FunctionParameter = 55
    FunctionEnd = 56
    FunctionCall = 57
    Variable = 59
    Load = 61
    Store = 62
    CopyMemory = 63
    CopyMemorySized = 64
    AccessChain = 65
    InBoundsAccessChain = 66
    PtrAccessChain = 67
    ArrayLength = 68
    InBoundsPtrAccessChain = 70
    Decorate = 71
    MemberDecorate = 72
    DecorationGroup = 73
    GroupDecorate = 74
    GroupMemberDecorate = 75
    VectorExtractDynamic = 77
    VectorInsertDynamic = 78
    VectorShuffle = 79
    CompositeConstruct = 80
    CompositeExtract = 81
    CompositeInsert = 82
    CopyObject = 83
    Transpose = 84
    ConvertFToU = 109
    ConvertFToS = 110
    ConvertSToF = 111
    ConvertUToF = 112
    UConvert = 113
    SConvert = 114
    FConvert = 115
    QuantizeToF16 = 116
    ConvertPtrToU = 117
    SatConvertSToU = 118
    SatConvertUToS = 119
    ConvertUToPtr = 120
    Bitcast = 124
    SNegate = 126
    FNegate = 127
    IAdd = 128
    FAdd = 129
    ISub = 130
    FSub = 131
    IMul = 132
    FMul = 133
    UDiv = 134
    SDiv = 135
    FDiv = 136
    UMod = 137
    SRem = 138
    SMod = 139
    FRem = 140
    FMod = 141
    VectorTimesScalar = 142
    MatrixTimesScalar = 143
    VectorTimesMatrix = 144
    MatrixTimesVector = 145
    MatrixTimesMatrix = 146
    OuterProduct = 147
    Dot = 148
    IAddCarry = 149
    ISubBorrow = 150
    UMulExtended = 151
    SMulExtended = 152
    Any = 154
    All = 155
    IsNan = 156
    IsInf = 157
    IsFinite = 158
    IsNormal = 159
    SignBitSet = 160
    LessOrGreater = 161
    Ordered = 162
    Unordered = 163
    LogicalEqual = 164
    LogicalNotEqual = 165
    LogicalOr = 166
    LogicalAnd = 167
    LogicalNot = 168
    Select = 169
    IEqual = 170
    INotEqual = 171
    UGreaterThan = 172
    SGreaterThan = 173
    UGreaterThanEqual = 174
    SGreaterThanEqual = 175
    ULessThan = 176
    SLessThan = 177
    ULessThanEqual = 178
    SLessThanEqual = 179
    FOrdEqual = 180
    FUnordEqual = 181
    FOrdNotEqual = 182
    FUnordNotEqual = 183
    FOrdLessThan = 184
    FUnordLessThan = 185
    FOrdGreaterThan = 186
    FUnordGreaterThan = 187
    FOrdLessThanEqual = 188
    FUnordLessThanEqual = 189
    FOrdGreaterThanEqual = 190
    FUnordGreaterThanEqual = 191
    ShiftRightLogical = 194
    ShiftRightArithmetic = 195
    ShiftLeftLogical = 196
    BitwiseOr = 197
    BitwiseXor = 198
    BitwiseAnd = 199
    Not = 200
    BitFieldInsert = 201
    BitFieldSExtract = 202
    BitFieldUExtract = 203
    BitReverse = 204
    BitCount = 205
    ControlBarrier = 224
    MemoryBarrier = 225
    AtomicLoad = 227
    AtomicStore = 228
    AtomicExchange = 229
    AtomicCompareExchange = 230
    AtomicCompareExchangeWeak = 231
    AtomicIIncrement = 232
    AtomicIDecrement = 233
    AtomicIAdd = 234
    AtomicISub = 235
    AtomicSMin = 236
    AtomicUMin = 237
    AtomicSMax = 238
    AtomicUMax = 239
    AtomicAnd = 240
    AtomicOr = 241
    AtomicXor = 242
    Phi = 245
    LoopMerge = 246
    SelectionMerge = 247
    Label = 248
    Branch = 249
    BranchConditional = 250
    Switch = 251
    Kill = 252
    Return = 253
    ReturnValue = 254
    Unreachable = 255
    LifetimeStart = 256
    LifetimeStop = 257
    GroupAsyncCopy = 259
    GroupAll = 261
    GroupAny = 262
    GroupBroadcast = 263
    GroupIAdd = 264
    GroupFAdd = 265
    GroupFMin = 266
    GroupUMin = 267
    GroupSMin = 268
    GroupFMax = 269
    GroupUMax = 270
    GroupSMax = 271
    NoLine = 317
    AtomicFlagTestAndSet = 318
    AtomicFlagClear = 319
    SizeOf = 321
    TypeNamedBarrier = 327
    NamedBarrierInitialize = 328
    MemoryNamedBarrier = 329
    ModuleProcessed = 330
    ExecutionModeId = 331
    DecorateId = 332
    GroupNonUniformElect = 333
    GroupNonUniformAll = 334
    GroupNonUniformAny = 335
    GroupNonUniformAllEqual = 336
    GroupNonUniformBroadcast = 337
    GroupNonUniformBroadcastFirst = 338
    GroupNonUniformBallot = 339
    GroupNonUniformInverseBallot = 340
    GroupNonUniformBallotBitExtract = 341
    GroupNonUniformBallotBitCount = 342
    GroupNonUniformBallotFindLSB = 343
    GroupNonUniformBallotFindMSB = 344
    GroupNonUniformShuffle = 345
    GroupNonUniformShuffleXor = 346
    GroupNonUniformShuffleUp = 347
    GroupNonUniformShuffleDown = 348
    GroupNonUniformIAdd = 349
    GroupNonUniformFAdd = 350
    GroupNonUniformIMul = 351
    GroupNonUniformFMul = 352
    GroupNonUniformSMin = 353
    GroupNonUniformUMin = 354
    GroupNonUniformFMin = 355
    GroupNonUniformSMax = 356
    GroupNonUniformUMax = 357
    GroupNonUniformFMax = 358
    GroupNonUniformBitwiseAnd = 359
    GroupNonUniformBitwiseOr = 360
    GroupNonUniformBitwiseXor = 361
    GroupNonUniformLogicalAnd = 362
    GroupNonUniformLogicalOr = 363
    GroupNonUniformLogicalXor = 364
    GroupNonUniformQuadBroadcast = 365
    GroupNonUniformQuadSwap = 366
    CopyLogical = 400
    PtrEqual = 401
    PtrNotEqual = 402
    PtrDiff = 403
    TypeUntypedPointerKHR = 4417
    UntypedVariableKHR = 4418
    UntypedAccessChainKHR = 4419
    UntypedPtrAccessChainKHR = 4423
    UntypedArrayLengthKHR = 4425
    SDot = 4450
    UDot = 4451
    SUDot = 4452
    SDotAccSat = 4453
    UDotAccSat = 4454
    SUDotAccSat = 4455
    TypeCooperativeMatrixKHR = 4456
    CooperativeMatrixLoadKHR = 4457
    CooperativeMatrixStoreKHR = 4458
    CooperativeMatrixMulAddKHR = 4459
    CooperativeMatrixLengthKHR = 4460
    ConstantCompositeReplicateEXT = 4461
    SpecConstantCompositeReplicateEXT = 4462
    CompositeConstructReplicateEXT = 4463
    BitCastArrayQCOM = 4497
    CompositeConstructCoopMatQCOM = 4540
    CompositeExtractCoopMatQCOM = 4541
    ExtractSubArrayQCOM = 4542
    TypeVectorIdEXT = 5288
    CooperativeVectorMatrixMulNV = 5289
    CooperativeVectorOuterProductAccumulateNV = 5290
    CooperativeVectorReduceSumAccumulateNV = 5291
    CooperativeVectorMatrixMulAddNV = 5292
    CooperativeMatrixConvertUseEXT = 5293
    CooperativeVectorLoadNV = 5302
    CooperativeVectorStoreNV = 5303
    TypeCooperativeMatrixNV = 5358
    CooperativeMatrixLoadNV = 5359
    CooperativeMatrixStoreNV = 5360
    CooperativeMatrixMulAddNV = 5361
    CooperativeMatrixLengthNV = 5362
    CooperativeMatrixGetCoordinateEXT = 5363
    CooperativeMatrixReduceEXT = 5366
    CooperativeMatrixLoadTensorNV = 5367
    CooperativeMatrixStoreTensorNV = 5368
    CooperativeMatrixPerElementOpEXT = 5369
    TypeTensorLayoutNV = 5370
    TypeTensorViewNV = 5371
    CreateTensorLayoutNV = 5372
    TensorLayoutSetDimensionNV = 5373
    TensorLayoutSetStrideNV = 5374
    TensorLayoutSliceNV = 5375
    TensorLayoutSetClampValueNV = 5376
    CreateTensorViewNV = 5377
    TensorViewSetDimensionNV = 5378
    TensorViewSetStrideNV = 5379
    TensorViewSetClipNV = 5382
    TensorLayoutSetBlockSizeNV = 5384
    CooperativeMatrixTransposeNV = 5390
    AtomicFMinEXT = 5614
    AtomicFMaxEXT = 5615
    AssumeTrueKHR = 5630
    ExpectKHR = 5631
    AtomicFAddEXT = 6035


OPERANDS: Mapping[Op, str] = MappingProxyType(
    {
        Op.Nop: "",
        Op.Undef: "T R",
        Op.SourceContinued: "str",
        Op.Source: "SourceLanguage int id? str?",
        Op.SourceExtension: "str",
        Op.Name: "id str",
        Op.MemberName: "id int str",
        Op.String: "R str",
        Op.Line: "id int int",
        Op.Extension: "str",
        Op.ExtInstImport: "R str",
        Op.ExtInst: "T R id ext id*",
        Op.MemoryModel: "AddressingModel MemoryModel",
        Op.EntryPoint: "ExecutionModel id str id*",
        Op.ExecutionMode: "id ExecutionMode",
        Op.Capability: "Capability",
        Op.TypeVoid: "R",
        Op.TypeBool: "R",
        Op.TypeInt: "R int int",
        Op.TypeFloat: "R int FPEncoding?",
        Op.TypeVector: "R id int",
        Op.TypeMatrix: "R id int",
        Op.TypeArray: "R id id",
        Op.TypeRuntimeArray: "R id",
        Op.TypeStruct: "R id*",
        Op.TypeOpaque: "R str",
        Op.TypePointer: "R StorageClass id",
        Op.TypeFunction: "R id id*",
        Op.TypeReserveId: "R",
        Op.TypeForwardPointer: "id StorageClass",
        Op.ConstantTrue: "T R",
        Op.ConstantFalse: "T R",
        Op.Constant: "T R number",
        Op.ConstantComposite: "T R id*",
        Op.ConstantNull: "T R",
        Op.SpecConstantTrue: "T R",
        Op.SpecConstantFalse: "T R",
        Op.SpecConstant: "T R number",
        Op.SpecConstantComposite: "T R id*",
        Op.SpecConstantOp: "T R opcode",
        Op.Function: "T R FunctionControl id",
        Op.FunctionParameter: "T R",
        Op.FunctionEnd: "",
        Op.FunctionCall: "T R id id*",
        Op.Variable: "T R StorageClass id?",
        Op.Load: "T R id MemoryAccess?",
        Op.Store: "id id MemoryAccess?",
        Op.CopyMemory: "id id MemoryAccess? MemoryAccess?",
        Op.CopyMemorySized: "id id id MemoryAccess? MemoryAccess?",
        Op.AccessChain: "T R id id*",
        Op.InBoundsAccessChain: "T R id id*",
        Op.PtrAccessChain: "T R id id id*",
        Op.ArrayLength: "T R id int",
        Op.InBoundsPtrAccessChain: "T R id id id*",
        Op.Decorate: "id Decoration",
        Op.MemberDecorate: "id int Decoration",
        Op.DecorationGroup: "R",
        Op.GroupDecorate: "id id*",
        Op.GroupMemberDecorate: "id PairIdRefLiteralInteger*",
        Op.VectorExtractDynamic: "T R id id",
        Op.VectorInsertDynamic: "T R id id id",
        Op.VectorShuffle: "T R id id int*",
        Op.CompositeConstruct: "T R id*",
        Op.CompositeExtract: "T R id int*",
        Op.CompositeInsert: "T R id id int*",
        Op.CopyObject: "T R id",
        Op.Transpose: "T R id",
        Op.ConvertFToU: "T R id",
        Op.ConvertFToS: "T R id",
        Op.ConvertSToF: "T R id",
        Op.ConvertUToF: "T R id",
        Op.UConvert: "T R id",
        Op.SConvert: "T R id",
        Op.FConvert: "T R id",
        Op.QuantizeToF16: "T R id",
        Op.ConvertPtrToU: "T R id",
        Op.SatConvertSToU: "T R id",
        Op.SatConvertUToS: "T R id",
        Op.ConvertUToPtr: "T R id",
        Op.Bitcast: "T R id",
        Op.SNegate: "T R id",
        Op.FNegate: "T R id",
        Op.IAdd: "T R id id",
        Op.FAdd: "T R id id",
        Op.ISub: "T R id id",
        Op.FSub: "T R id id",
        Op.IMul: "T R id id",
        Op.FMul: "T R id id",
        Op.UDiv: "T R id id",
        Op.SDiv: "T R id id",
        Op.FDiv: "T R id id",
        Op.UMod: "T R id id",
        Op.SRem: "T R id id",
        Op.SMod: "T R id id",
        Op.FRem: "T R id id",
        Op.FMod: "T R id id",
        Op.VectorTimesScalar: "T R id id",
        Op.MatrixTimesScalar: "T R id id",
        Op.VectorTimesMatrix: "T R id id",
        Op.MatrixTimesVector: "T R id id",
        Op.MatrixTimesMatrix: "T R id id",
        Op.OuterProduct: "T R id id",
        Op.Dot: "T R id id",
        Op.IAddCarry: "T R id id",
        Op.ISubBorrow: "T R id id",
        Op.UMulExtended: "T R id id",
        Op.SMulExtended: "T R id id",
        Op.Any: "T R id",
        Op.All: "T R id",
        Op.IsNan: "T R id",
        Op.IsInf: "T R id",
        Op.IsFinite: "T R id",
        Op.IsNormal: "T R id",
        Op.SignBitSet: "T R id",
        Op.LessOrGreater: "T R id id",
        Op.Ordered: "T R id id",
        Op.Unordered: "T R id id",
        Op.LogicalEqual: "T R id id",
        Op.LogicalNotEqual: "T R id id",
        Op.LogicalOr: "T R id id",
        Op.LogicalAnd: "T R id id",
        Op.LogicalNot: "T R id",
        Op.Select: "T R id id id",
        Op.IEqual: "T R id id",
        Op.INotEqual: "T R id id",
        Op.UGreaterThan: "T R id id",
        Op.SGreaterThan: "T R id id",
        Op.UGreaterThanEqual: "T R id id",
        Op.SGreaterThanEqual: "T R id id",
        Op.ULessThan: "T R id id",
        Op.SLessThan: "T R id id",
        Op.ULessThanEqual: "T R id id",
        Op.SLessThanEqual: "T R id id",
        Op.FOrdEqual: "T R id id",
        Op.FUnordEqual: "T R id id",
        Op.FOrdNotEqual: "T R id id",
        Op.FUnordNotEqual: "T R id id",
        Op.FOrdLessThan: "T R id id",
        Op.FUnordLessThan: "T R id id",
        Op.FOrdGreaterThan: "T R id id",
        Op.FUnordGreaterThan: "T R id id",
        Op.FOrdLessThanEqual: "T R id id",
        Op.FUnordLessThanEqual: "T R id id",
        Op.FOrdGreaterThanEqual: "T R id id",
        Op.FUnordGreaterThanEqual: "T R id id",
        Op.ShiftRightLogical: "T R id id",
        Op.ShiftRightArithmetic: "T R id id",
        Op.ShiftLeftLogical: "T R id id",
        Op.BitwiseOr: "T R id id",
        Op.BitwiseXor: "T R id id",
        Op.BitwiseAnd: "T R id id",
        Op.Not: "T R id",
        Op.BitFieldInsert: "T R id id id id",
        Op.BitFieldSExtract: "T R id id id",
        Op.BitFieldUExtract: "T R id id id",
        Op.BitReverse: "T R id",
        Op.BitCount: "T R id",
        Op.ControlBarrier: "id id id",
        Op.MemoryBarrier: "id id",
        Op.AtomicLoad: "T R id id id",
        Op.AtomicStore: "id id id id",
        Op.AtomicExchange: "T R id id id id",
        Op.AtomicCompareExchange: "T R id id id id id id",
        Op.AtomicCompareExchangeWeak: "T R id id id id id id",
        Op.AtomicIIncrement: "T R id id id",
        Op.AtomicIDecrement: "T R id id id",
        Op.AtomicIAdd: "T R id id id id",
        Op.AtomicISub: "T R id id id id",
        Op.AtomicSMin: "T R id id id id",
        Op.AtomicUMin: "T R id id id id",
        Op.AtomicSMax: "T R id id id id",
        Op.AtomicUMax: "T R id id id id",
        Op.AtomicAnd: "T R id id id id",
        Op.AtomicOr: "T R id id id id",
        Op.AtomicXor: "T R id id id id",
        Op.Phi: "T R PairIdRefIdRef*",
        Op.LoopMerge: "id id LoopControl",
        Op.SelectionMerge: "id SelectionControl",
        Op.Label: "R",
        Op.Branch: "id",
        Op.BranchConditional: "id id id int*",
        Op.Switch: "id id PairLiteralIntegerIdRef*",
        Op.Kill: "",
        Op.Return: "",
        Op.ReturnValue: "id",
        Op.Unreachable: "",
        Op.LifetimeStart: "id int",
        Op.LifetimeStop: "id int",
        Op.GroupAsyncCopy: "T R id id id id id id",
        Op.GroupAll: "T R id id",
        Op.GroupAny: "T R id id",
        Op.GroupBroadcast: "T R id id id",
        Op.GroupIAdd: "T R id GroupOperation id",
        Op.GroupFAdd: "T R id GroupOperation id",
        Op.GroupFMin: "T R id GroupOperation id",
        Op.GroupUMin: "T R id GroupOperation id",
        Op.GroupSMin: "T R id GroupOperation id",
        Op.GroupFMax: "T R id GroupOperation id",
        Op.GroupUMax: "T R id GroupOperation id",
        Op.GroupSMax: "T R id GroupOperation id",
        Op.NoLine: "",
        Op.AtomicFlagTestAndSet: "T R id id id",
        Op.AtomicFlagClear: "id id id",
        Op.SizeOf: "T R id",
        Op.TypeNamedBarrier: "R",
        Op.NamedBarrierInitialize: "T R id",
        Op.MemoryNamedBarrier: "id id id",
        Op.ModuleProcessed: "str",
        Op.ExecutionModeId: "id ExecutionMode",
        Op.DecorateId: "id Decoration",
        Op.GroupNonUniformElect: "T R id",
        Op.GroupNonUniformAll: "T R id id",
        Op.GroupNonUniformAny: "T R id id",
        Op.GroupNonUniformAllEqual: "T R id id",
        Op.GroupNonUniformBroadcast: "T R id id id",
        Op.GroupNonUniformBroadcastFirst: "T R id id",
        Op.GroupNonUniformBallot: "T R id id",
        Op.GroupNonUniformInverseBallot: "T R id id",
        Op.GroupNonUniformBallotBitExtract: "T R id id id",
        Op.GroupNonUniformBallotBitCount: "T R id GroupOperation id",
        Op.GroupNonUniformBallotFindLSB: "T R id id",
        Op.GroupNonUniformBallotFindMSB: "T R id id",
        Op.GroupNonUniformShuffle: "T R id id id",
        Op.GroupNonUniformShuffleXor: "T R id id id",
        Op.GroupNonUniformShuffleUp: "T R id id id",
        Op.GroupNonUniformShuffleDown: "T R id id id",
        Op.GroupNonUniformIAdd: "T R id GroupOperation id id?",
        Op.GroupNonUniformFAdd: "T R id GroupOperation id id?",
        Op.GroupNonUniformIMul: "T R id GroupOperation id id?",
        Op.GroupNonUniformFMul: "T R id GroupOperation id id?",
        Op.GroupNonUniformSMin: "T R id GroupOperation id id?",
        Op.GroupNonUniformUMin: "T R id GroupOperation id id?",
        Op.GroupNonUniformFMin: "T R id GroupOperation id id?",
        Op.GroupNonUniformSMax: "T R id GroupOperation id id?",
        Op.GroupNonUniformUMax: "T R id GroupOperation id id?",
        Op.GroupNonUniformFMax: "T R id GroupOperation id id?",
        Op.GroupNonUniformBitwiseAnd: "T R id GroupOperation id id?",
        Op.GroupNonUniformBitwiseOr: "T R id GroupOperation id id?",
        Op.GroupNonUniformBitwiseXor: "T R id GroupOperation id id?",
        Op.GroupNonUniformLogicalAnd: "T R id GroupOperation id id?",
        Op.GroupNonUniformLogicalOr: "T R id GroupOperation id id?",
        Op.GroupNonUniformLogicalXor: "T R id GroupOperation id id?",
        Op.GroupNonUniformQuadBroadcast: "T R id id id",
        Op.GroupNonUniformQuadSwap: "T R id id id",
        Op.CopyLogical: "T R id",
        Op.PtrEqual: "T R id id",
        Op.PtrNotEqual: "T R id id",
        Op.PtrDiff: "T R id id",
        Op.TypeUntypedPointerKHR: "R StorageClass",
        Op.UntypedVariableKHR: "T R StorageClass id? id?",
        Op.UntypedAccessChainKHR: "T R id id id*",
        Op.UntypedPtrAccessChainKHR: "T R id id id id*",
        Op.UntypedArrayLengthKHR: "T R id id int",
        Op.SDot: "T R id id PackedVectorFormat?",
        Op.UDot: "T R id id PackedVectorFormat?",
        Op.SUDot: "T R id id PackedVectorFormat?",
        Op.SDotAccSat: "T R id id id PackedVectorFormat?",
        Op.UDotAccSat: "T R id id id PackedVectorFormat?",
        Op.SUDotAccSat: "T R id id id PackedVectorFormat?",
        Op.TypeCooperativeMatrixKHR: "R id id id id id",
        Op.CooperativeMatrixLoadKHR: "T R id id id? MemoryAccess?",
        Op.CooperativeMatrixStoreKHR: "id id id id? MemoryAccess?",
        Op.CooperativeMatrixMulAddKHR: "T R id id id CooperativeMatrixOperands?",
        Op.CooperativeMatrixLengthKHR: "T R id",
        Op.ConstantCompositeReplicateEXT: "T R id",
        Op.SpecConstantCompositeReplicateEXT: "T R id",
        Op.CompositeConstructReplicateEXT: "T R id",
        Op.BitCastArrayQCOM: "T R id",
        Op.CompositeConstructCoopMatQCOM: "T R id",
        Op.CompositeExtractCoopMatQCOM: "T R id",
        Op.ExtractSubArrayQCOM: "T R id id",
        Op.TypeVectorIdEXT: "R id id",
        Op.CooperativeVectorMatrixMulNV: "T R id id id id id id id id id id? CooperativeMatrixOperands?",
        Op.CooperativeVectorOuterProductAccumulateNV: "id id id id id id id?",
        Op.CooperativeVectorReduceSumAccumulateNV: "id id id",
        Op.CooperativeVectorMatrixMulAddNV: "T R id id id id id id id id id id id id id? CooperativeMatrixOperands?",
        Op.CooperativeMatrixConvertUseEXT: "T R id",
        Op.CooperativeVectorLoadNV: "T R id id MemoryAccess?",
        Op.CooperativeVectorStoreNV: "id id id MemoryAccess?",
        Op.TypeCooperativeMatrixNV: "R id id id id",
        Op.CooperativeMatrixLoadNV: "T R id id id MemoryAccess?",
        Op.CooperativeMatrixStoreNV: "id id id id MemoryAccess?",
        Op.CooperativeMatrixMulAddNV: "T R id id id",
        Op.CooperativeMatrixLengthNV: "T R id",
        Op.CooperativeMatrixGetCoordinateEXT: "T R id id",
        Op.CooperativeMatrixReduceEXT: "T R id CooperativeMatrixReduce id",
        Op.CooperativeMatrixLoadTensorNV: "T R id id id MemoryAccess TensorAddressingOperands",
        Op.CooperativeMatrixStoreTensorNV: "id id id MemoryAccess TensorAddressingOperands",
        Op.CooperativeMatrixPerElementOpEXT: "T R id id id*",
        Op.TypeTensorLayoutNV: "R id id",
        Op.TypeTensorViewNV: "R id id id*",
        Op.CreateTensorLayoutNV: "T R",
        Op.TensorLayoutSetDimensionNV: "T R id id*",
        Op.TensorLayoutSetStrideNV: "T R id id*",
        Op.TensorLayoutSliceNV: "T R id id*",
        Op.TensorLayoutSetClampValueNV: "T R id id",
        Op.CreateTensorViewNV: "T R",
        Op.TensorViewSetDimensionNV: "T R id id*",
        Op.TensorViewSetStrideNV: "T R id id*",
        Op.TensorViewSetClipNV: "T R id id id id id",
        Op.TensorLayoutSetBlockSizeNV: "T R id id*",
        Op.CooperativeMatrixTransposeNV: "T R id",
        Op.AtomicFMinEXT: "T R id id id id",
        Op.AtomicFMaxEXT: "T R id id id id",
        Op.AssumeTrueKHR: "id",
        Op.ExpectKHR: "T R id id",
        Op.AtomicFAddEXT: "T R id id id id",
    }
)
"""Pattern of the operands of each instruction."""


class Capability(enum.IntEnum):
    """Capability enumerants."""

    Matrix = 0
    Shader = 1
    Addresses = 4
    Linkage = 5
    Vector16 = 7
    Float16 = 9
    Float64 = 10
    Int64 = 11
    Int64Atomics = 12
    Int16 = 22
    StorageBufferArrayDynamicIndexing = 30
    Int8 = 39
    GroupNonUniform = 61
    GroupNonUniformVote = 62
    GroupNonUniformArithmetic = 63
    GroupNonUniformBallot = 64
    GroupNonUniformShuffle = 65
    GroupNonUniformShuffleRelative = 66
    GroupNonUniformClustered = 67
    GroupNonUniformQuad = 68
    CooperativeMatrixLayoutsARM = 4201
    Float8EXT = 4212
    Float8CooperativeMatrixEXT = 4213
    Float8UnsignedE8M0EXT = 4230
    SubgroupBallotKHR = 4423
    WorkgroupMemoryExplicitLayoutKHR = 4428
    WorkgroupMemoryExplicitLayout8BitAccessKHR = 4429
    WorkgroupMemoryExplicitLayout16BitAccessKHR = 4430
    StorageBuffer16BitAccess = 4433
    UniformAndStorageBuffer16BitAccess = 4434
    StoragePushConstant16 = 4435
    VariablePointersStorageBuffer = 4441
    VariablePointers = 4442
    StorageBuffer8BitAccess = 4448
    UniformAndStorageBuffer8BitAccess = 4449
    StoragePushConstant8 = 4450
    DenormPreserve = 4464
    DenormFlushToZero = 4465
    SignedZeroInfNanPreserve = 4466
    RoundingModeRTE = 4467
    RoundingModeRTZ = 4468
    UntypedPointersKHR = 4473
    CooperativeMatrixConversionQCOM = 4496
    BFloat16MulAddQCOM = 4504
    Int4TypeINTEL = 5112
    BFloat16TypeKHR = 5116
    BFloat16DotProductKHR = 5117
    BFloat16CooperativeMatrixKHR = 5118
    GroupNonUniformPartitionedEXT = 5297
    StorageBufferArrayNonUniformIndexing = 5308
    VulkanMemoryModel = 5345
    VulkanMemoryModelDeviceScope = 5346
    PhysicalStorageBufferAddresses = 5347
    CooperativeMatrixNV = 5357
    CooperativeVectorNV = 5394
    AtomicFloat16VectorNV = 5404
    LongVectorEXT = 5425
    CooperativeMatrixConversionsEXT = 5429
    CooperativeMatrixReductionsEXT = 5430
    CooperativeMatrixConversionsNV = 5431
    CooperativeMatrixPerElementOperationsEXT = 5432
    CooperativeMatrixTensorAddressingNV = 5433
    CooperativeMatrixBlockLoadsNV = 5434
    CooperativeVectorTrainingNV = 5435
    CooperativeMatrixGetCoordinateEXT = 5438
    TensorAddressingNV = 5439
    CooperativeMatrixDecodeVectorNV = 5447
    AtomicFloat32MinMaxEXT = 5612
    AtomicFloat64MinMaxEXT = 5613
    AtomicFloat16MinMaxEXT = 5616
    ExpectAssumeKHR = 5629
    DotProductInputAll = 6016
    DotProductInput4x8Bit = 6017
    DotProductInput4x8BitPacked = 6018
    DotProduct = 6019
    CooperativeMatrixKHR = 6022
    ReplicatedCompositesEXT = 6024
    GroupNonUniformRotateKHR = 6026
    FloatControls2 = 6029
    AtomicFloat32AddEXT = 6033
    AtomicFloat64AddEXT = 6034
    AtomicFloat16AddEXT = 6095
    BFloat16ConversionINTEL = 6115
    DotProductFloat16AccFloat32VALVE = 6912
    DotProductFloat16AccFloat16VALVE = 6913
    DotProductBFloat16AccVALVE = 6914
    DotProductFloat8AccFloat32VALVE = 6915


class StorageClass(enum.IntEnum):
    """StorageClass enumerants."""

    UniformConstant = 0
    Input = 1
    Uniform = 2
    Output = 3
    Workgroup = 4
    CrossWorkgroup = 5
    Private = 6
    Function = 7
    Generic = 8
    PushConstant = 9
    AtomicCounter = 10
    Image = 11
    StorageBuffer = 12
    TileImageEXT = 4172
    CallableDataKHR = 5328
    IncomingCallableDataKHR = 5329
    RayPayloadKHR = 5338
    HitAttributeKHR = 5339
    IncomingRayPayloadKHR = 5342
    ShaderRecordBufferKHR = 5343
    PhysicalStorageBuffer = 5349
    HitObjectAttributeNV = 5385
    TaskPayloadWorkgroupEXT = 5402
    HitObjectAttributeEXT = 5411


class Decoration(enum.IntEnum):
    """Decoration enumerants."""

    RelaxedPrecision = 0
    SpecId = 1
    Block = 2
    BufferBlock = 3
    RowMajor = 4
    ColMajor = 5
    ArrayStride = 6
    MatrixStride = 7
    GLSLShared = 8
    GLSLPacked = 9
    CPacked = 10
    BuiltIn = 11
    NoPerspective = 13
    Flat = 14
    Patch = 15
    Centroid = 16
    Sample = 17
    Invariant = 18
    Restrict = 19
    Aliased = 20
    Volatile = 21
    Constant = 22
    Coherent = 23
    NonWritable = 24
    NonReadable = 25
    Uniform = 26
    UniformId = 27
    SaturatedConversion = 28
    Stream = 29
    Location = 30
    Component = 31
    Index = 32
    Binding = 33
    DescriptorSet = 34
    Offset = 35
    XfbBuffer = 36
    XfbStride = 37
    FuncParamAttr = 38
    FPRoundingMode = 39
    FPFastMathMode = 40
    LinkageAttributes = 41
    NoContraction = 42
    InputAttachmentIndex = 43
    Alignment = 44
    MaxByteOffset = 45
    AlignmentId = 46
    MaxByteOffsetId = 47
    SaturatedToLargestFloat8NormalConversionEXT = 4216
    NoSignedWrap = 4469
    NoUnsignedWrap = 4470
    ArrayStrideIdEXT = 5124
    OffsetIdEXT = 5125
    UTFEncodedKHR = 5145
    OverrideCoverageNV = 5248
    PassthroughNV = 5250
    ViewportRelativeNV = 5252
    SecondaryViewportRelativeNV = 5256
    PerPrimitiveEXT = 5271
    PerViewNV = 5272
    PerTaskNV = 5273
    PerVertexKHR = 5285
    NonUniform = 5300
    RestrictPointer = 5355
    AliasedPointer = 5356
    MemberOffsetNV = 5358
    HitObjectShaderRecordBufferNV = 5386
    HitObjectShaderRecordBufferEXT = 5389
    BankNV = 5397
    BindlessSamplerNV = 5398
    BindlessImageNV = 5399
    BoundSamplerNV = 5400
    BoundImageNV = 5401
    CooperativeMatrixTransposeEXT = 5440
    CounterBuffer = 5634
    UserSemantic = 5635
    UserTypeGOOGLE = 5636
    IntrinsicSAMSUNG = 7040


class BuiltIn(enum.IntEnum):
    """BuiltIn enumerants."""

    Position = 0
    PointSize = 1
    ClipDistance = 3
    CullDistance = 4
    VertexId = 5
    InstanceId = 6
    PrimitiveId = 7
    InvocationId = 8
    Layer = 9
    ViewportIndex = 10
    TessLevelOuter = 11
    TessLevelInner = 12
    TessCoord = 13
    PatchVertices = 14
    FragCoord = 15
    PointCoord = 16
    FrontFacing = 17
    SampleId = 18
    SamplePosition = 19
    SampleMask = 20
    FragDepth = 22
    HelperInvocation = 23
    NumWorkgroups = 24
    WorkgroupSize = 25
    WorkgroupId = 26
    LocalInvocationId = 27
    GlobalInvocationId = 28
    LocalInvocationIndex = 29
    WorkDim = 30
    GlobalSize = 31
    EnqueuedWorkgroupSize = 32
    GlobalOffset = 33
    GlobalLinearId = 34
    SubgroupSize = 36
    SubgroupMaxSize = 37
    NumSubgroups = 38
    NumEnqueuedSubgroups = 39
    SubgroupId = 40
    SubgroupLocalInvocationId = 41
    VertexIndex = 42
    InstanceIndex = 43
    SubgroupEqMask = 4416
    SubgroupGeMask = 4417
    SubgroupGtMask = 4418
    SubgroupLeMask = 4419
    SubgroupLtMask = 4420
    BaseVertex = 4424
    BaseInstance = 4425
    DrawIndex = 4426
    PrimitiveShadingRateKHR = 4432
    DeviceIndex = 4438
    ViewIndex = 4440
    ShadingRateKHR = 4444
    FragStencilRefEXT = 5014
    SamplerHeapEXT = 5122
    ResourceHeapEXT = 5123
    ViewportMaskNV = 5253
    SecondaryPositionNV = 5257
    SecondaryViewportMaskNV = 5258
    PositionPerViewNV = 5261
    ViewportMaskPerViewNV = 5262
    FullyCoveredEXT = 5264
    TaskCountNV = 5274
    PrimitiveCountNV = 5275
    PrimitiveIndicesNV = 5276
    ClipDistancePerViewNV = 5277
    CullDistancePerViewNV = 5278
    LayerPerViewNV = 5279
    MeshViewCountNV = 5280
    MeshViewIndicesNV = 5281
    BaryCoordKHR = 5286
    BaryCoordNoPerspKHR = 5287
    FragSizeEXT = 5292
    FragInvocationCountEXT = 5293
    PrimitivePointIndicesEXT = 5294
    PrimitiveLineIndicesEXT = 5295
    PrimitiveTriangleIndicesEXT = 5296
    CullPrimitiveEXT = 5299
    LaunchIdKHR = 5319
    LaunchSizeKHR = 5320
    WorldRayOriginKHR = 5321
    WorldRayDirectionKHR = 5322
    ObjectRayOriginKHR = 5323
    ObjectRayDirectionKHR = 5324
    RayTminKHR = 5325
    RayTmaxKHR = 5326
    InstanceCustomIndexKHR = 5327
    ObjectToWorldKHR = 5330
    WorldToObjectKHR = 5331
    HitTNV = 5332
    HitKindKHR = 5333
    CurrentRayTimeNV = 5334
    HitTriangleVertexPositionsKHR = 5335
    HitMicroTriangleVertexPositionsNV = 5337
    HitMicroTriangleVertexBarycentricsNV = 5344
    IncomingRayFlagsKHR = 5351
    RayGeometryIndexKHR = 5352
    HitIsSphereNV = 5359
    HitIsLSSNV = 5360
    HitSpherePositionNV = 5361
    WarpsPerSMNV = 5374
    SMCountNV = 5375
    WarpIDNV = 5376
    SMIDNV = 5377
    HitLSSPositionsNV = 5396
    HitKindFrontFacingMicroTriangleNV = 5405
    HitKindBackFacingMicroTriangleNV = 5406
    HitSphereRadiusNV = 5420
    HitLSSRadiiNV = 5421
    ClusterIDNV = 5436
    CullMaskKHR = 6021


class ExecutionMode(enum.IntEnum):
    """ExecutionMode enumerants."""

    Invocations = 0
    SpacingEqual = 1
    SpacingFractionalEven = 2
    SpacingFractionalOdd = 3
    VertexOrderCw = 4
    VertexOrderCcw = 5
    PixelCenterInteger = 6
    OriginUpperLeft = 7
    OriginLowerLeft = 8
    EarlyFragmentTests = 9
    PointMode = 10
    Xfb = 11
    DepthReplacing = 12
    DepthGreater = 14
    DepthLess = 15
    DepthUnchanged = 16
    LocalSize = 17
    LocalSizeHint = 18
    InputPoints = 19
    InputLines = 20
    InputLinesAdjacency = 21
    Triangles = 22
    InputTrianglesAdjacency = 23
    Quads = 24
    Isolines = 25
    OutputVertices = 26
    OutputPoints = 27
    OutputLineStrip = 28
    OutputTriangleStrip = 29
    VecTypeHint = 30
    ContractionOff = 31
    Initializer = 33
    Finalizer = 34
    SubgroupSize = 35
    SubgroupsPerWorkgroup = 36
    SubgroupsPerWorkgroupId = 37
    LocalSizeId = 38
    LocalSizeHintId = 39
    NonCoherentColorAttachmentReadEXT = 4169
    NonCoherentDepthAttachmentReadEXT = 4170
    NonCoherentStencilAttachmentReadEXT = 4171
    SubgroupUniformControlFlowKHR = 4421
    PostDepthCoverage = 4446
    DenormPreserve = 4459
    DenormFlushToZero = 4460
    SignedZeroInfNanPreserve = 4461
    RoundingModeRTE = 4462
    RoundingModeRTZ = 4463
    StencilRefReplacingEXT = 5027
    QuadDerivativesKHR = 5088
    RequireFullQuadsKHR = 5089
    ArithmeticPoisonKHR = 5157
    OutputLinesEXT = 5269
    OutputPrimitivesEXT = 5270
    DerivativeGroupQuadsKHR = 5289
    DerivativeGroupLinearKHR = 5290
    OutputTrianglesEXT = 5298
    PixelInterlockOrderedEXT = 5366
    PixelInterlockUnorderedEXT = 5367
    SampleInterlockOrderedEXT = 5368
    SampleInterlockUnorderedEXT = 5369
    ShadingRateInterlockOrderedEXT = 5370
    ShadingRateInterlockUnorderedEXT = 5371
    Shader64BitIndexingEXT = 5427
    MaximallyReconvergesKHR = 6023
    FPFastMathDefault = 6028
    OpacityMicromapIdKHR = 6031


class ExecutionModel(enum.IntEnum):
    """ExecutionModel enumerants."""

    Vertex = 0
    TessellationControl = 1
    TessellationEvaluation = 2
    Geometry = 3
    Fragment = 4
    GLCompute = 5
    Kernel = 6
    TaskNV = 5267
    MeshNV = 5268
    RayGenerationKHR = 5313
    IntersectionKHR = 5314
    AnyHitKHR = 5315
    ClosestHitKHR = 5316
    MissKHR = 5317
    CallableKHR = 5318
    TaskEXT = 5364
    MeshEXT = 5365


class AddressingModel(enum.IntEnum):
    """AddressingModel enumerants."""

    Logical = 0
    Physical32 = 1
    Physical64 = 2
    PhysicalStorageBuffer64 = 5348


class MemoryModel(enum.IntEnum):
    """MemoryModel enumerants."""

    Simple = 0
    GLSL450 = 1
    OpenCL = 2
    Vulkan = 3


class SourceLanguage(enum.IntEnum):
    """SourceLanguage enumerants."""

    Unknown = 0
    ESSL = 1
    GLSL = 2
    OpenCL_C = 3
    OpenCL_CPP = 4
    HLSL = 5
    CPP_for_OpenCL = 6
    SYCL = 7
    HERO_C = 8
    NZSL = 9
    WGSL = 10
    Slang = 11
    Zig = 12
    Rust = 13
    Pred = 14
    ApilaJai = 15


class Scope(enum.IntEnum):
    """Scope enumerants."""

    CrossDevice = 0
    Device = 1
    Workgroup = 2
    Subgroup = 3
    Invocation = 4
    QueueFamily = 5
    ShaderCallKHR = 6


class GroupOperation(enum.IntEnum):
    """GroupOperation enumerants."""

    Reduce = 0
    InclusiveScan = 1
    ExclusiveScan = 2
    ClusteredReduce = 3
    PartitionedReduceEXT = 6
    PartitionedInclusiveScanEXT = 7
    PartitionedExclusiveScanEXT = 8


class CooperativeMatrixLayout(enum.IntEnum):
    """CooperativeMatrixLayout enumerants."""

    RowMajorKHR = 0
    ColumnMajorKHR = 1


class CooperativeMatrixUse(enum.IntEnum):
    """CooperativeMatrixUse enumerants."""

    MatrixAKHR = 0
    MatrixBKHR = 1
    MatrixAccumulatorKHR = 2


class TensorClampMode(enum.IntEnum):
    """TensorClampMode enumerants."""

    Undefined = 0
    Constant = 1
    ClampToEdge = 2
    Repeat = 3
    RepeatMirrored = 4


class MemorySemantics(enum.IntFlag):
    """MemorySemantics enumerants."""

    Relaxed = 0x0
    Acquire = 0x2
    Release = 0x4
    AcquireRelease = 0x8
    SequentiallyConsistent = 0x10
    UniformMemory = 0x40
    SubgroupMemory = 0x80
    WorkgroupMemory = 0x100
    CrossWorkgroupMemory = 0x200
    AtomicCounterMemory = 0x400
    ImageMemory = 0x800
    OutputMemory = 0x1000
    MakeAvailable = 0x2000
    MakeVisible = 0x4000
    Volatile = 0x8000


class MemoryAccess(enum.IntFlag):
    """MemoryAccess enumerants."""

    None_ = 0x0
    Volatile = 0x1
    Aligned = 0x2
    Nontemporal = 0x4
    MakePointerAvailable = 0x8
    MakePointerVisible = 0x10
    NonPrivatePointer = 0x20


class SelectionControl(enum.IntFlag):
    """SelectionControl enumerants."""

    None_ = 0x0
    Flatten = 0x1
    DontFlatten = 0x2


class LoopControl(enum.IntFlag):
    """LoopControl enumerants."""

    None_ = 0x0
    Unroll = 0x1
    DontUnroll = 0x2
    DependencyInfinite = 0x4
    DependencyLength = 0x8
    MinIterations = 0x10
    MaxIterations = 0x20
    IterationMultiple = 0x40
    PeelCount = 0x80
    PartialCount = 0x100


class FunctionControl(enum.IntFlag):
    """FunctionControl enumerants."""

    None_ = 0x0
    Inline = 0x1
    DontInline = 0x2
    Pure = 0x4
    Const = 0x8
    OptNoneEXT = 0x10000


class CooperativeMatrixOperands(enum.IntFlag):
    """CooperativeMatrixOperands enumerants."""

    NoneKHR = 0x0
    MatrixASignedComponentsKHR = 0x1
    MatrixBSignedComponentsKHR = 0x2
    MatrixCSignedComponentsKHR = 0x4
    MatrixResultSignedComponentsKHR = 0x8
    SaturatingAccumulationKHR = 0x10


class CooperativeMatrixReduce(enum.IntFlag):
    """CooperativeMatrixReduce enumerants."""

    Row = 0x1
    Column = 0x2
    _2x2 = 0x4


class TensorAddressingOperands(enum.IntFlag):
    """TensorAddressingOperands enumerants."""

    None_ = 0x0
    TensorView = 0x1
    DecodeFunc = 0x2
    DecodeVectorFunc = 0x4


class FPFastMathMode(enum.IntFlag):
    """FPFastMathMode enumerants."""

    None_ = 0x0
    NotNaN = 0x1
    NotInf = 0x2
    NSZ = 0x4
    AllowRecip = 0x8
    Fast = 0x10
    AllowContract = 0x10000
    AllowReassoc = 0x20000
    AllowTransform = 0x40000


class FPRoundingMode(enum.IntEnum):
    """FPRoundingMode enumerants."""

    RTE = 0
    RTZ = 1
    RTP = 2
    RTN = 3


class FunctionParameterAttribute(enum.IntEnum):
    """FunctionParameterAttribute enumerants."""

    Zext = 0
    Sext = 1
    ByVal = 2
    Sret = 3
    NoAlias = 4
    NoCapture = 5
    NoWrite = 6
    NoReadWrite = 7


class LinkageType(enum.IntEnum):
    """LinkageType enumerants."""

    Export = 0
    Import = 1
    LinkOnceODR = 2


class CooperativeVectorMatrixLayout(enum.IntEnum):
    """CooperativeVectorMatrixLayout enumerants."""

    RowMajorNV = 0
    ColumnMajorNV = 1
    InferencingOptimalNV = 2
    TrainingOptimalNV = 3


class FPEncoding(enum.IntEnum):
    """FPEncoding enumerants."""

    BFloat16KHR = 0
    Float8E4M3EXT = 4214
    Float8E5M2EXT = 4215


class ComponentType(enum.IntEnum):
    """ComponentType enumerants."""

    Float16NV = 0
    Float32NV = 1
    Float64NV = 2
    SignedInt8NV = 3
    SignedInt16NV = 4
    SignedInt32NV = 5
    SignedInt64NV = 6
    UnsignedInt8NV = 7
    UnsignedInt16NV = 8
    UnsignedInt32NV = 9
    UnsignedInt64NV = 10
    SignedInt8PackedNV = 1000491000
    UnsignedInt8PackedNV = 1000491001
    FloatE4M3NV = 1000491002
    FloatE5M2NV = 1000491003


PARAMETERS: Mapping[str, Mapping[int, str]] = MappingProxyType(
    {
        "Decoration": {
            Decoration.SpecId: "int",
            Decoration.ArrayStride: "int",
            Decoration.MatrixStride: "int",
            Decoration.BuiltIn: "BuiltIn",
            Decoration.UniformId: "id",
            Decoration.Stream: "int",
            Decoration.Location: "int",
            Decoration.Component: "int",
            Decoration.Index: "int",
            Decoration.Binding: "int",
            Decoration.DescriptorSet: "int",
            Decoration.Offset: "int",
            Decoration.XfbBuffer: "int",
            Decoration.XfbStride: "int",
            Decoration.FuncParamAttr: "FunctionParameterAttribute",
            Decoration.FPRoundingMode: "FPRoundingMode",
            Decoration.FPFastMathMode: "FPFastMathMode",
            Decoration.LinkageAttributes: "str LinkageType",
            Decoration.InputAttachmentIndex: "int",
            Decoration.Alignment: "int",
            Decoration.MaxByteOffset: "int",
            Decoration.AlignmentId: "id",
            Decoration.MaxByteOffsetId: "id",
            Decoration.ArrayStrideIdEXT: "id",
            Decoration.OffsetIdEXT: "id",
            Decoration.SecondaryViewportRelativeNV: "int",
            Decoration.MemberOffsetNV: "int",
            Decoration.BankNV: "int",
            Decoration.CounterBuffer: "id",
            Decoration.UserSemantic: "str",
            Decoration.UserTypeGOOGLE: "str",
            Decoration.IntrinsicSAMSUNG: "int",
        },
        "ExecutionMode": {
            ExecutionMode.Invocations: "int",
            ExecutionMode.LocalSize: "int int int",
            ExecutionMode.LocalSizeHint: "int int int",
            ExecutionMode.OutputVertices: "int",
            ExecutionMode.VecTypeHint: "int",
            ExecutionMode.SubgroupSize: "int",
            ExecutionMode.SubgroupsPerWorkgroup: "int",
            ExecutionMode.SubgroupsPerWorkgroupId: "id",
            ExecutionMode.LocalSizeId: "id id id",
            ExecutionMode.LocalSizeHintId: "id id id",
            ExecutionMode.DenormPreserve: "int",
            ExecutionMode.DenormFlushToZero: "int",
            ExecutionMode.SignedZeroInfNanPreserve: "int",
            ExecutionMode.RoundingModeRTE: "int",
            ExecutionMode.RoundingModeRTZ: "int",
            ExecutionMode.OutputPrimitivesEXT: "int",
            ExecutionMode.FPFastMathDefault: "id id",
            ExecutionMode.OpacityMicromapIdKHR: "id",
        },
        "MemoryAccess": {
            MemoryAccess.Aligned: "int",
            MemoryAccess.MakePointerAvailable: "id",
            MemoryAccess.MakePointerVisible: "id",
        },
        "LoopControl": {
            LoopControl.DependencyLength: "int",
            LoopControl.MinIterations: "int",
            LoopControl.MaxIterations: "int",
            LoopControl.IterationMultiple: "int",
            LoopControl.PeelCount: "int",
            LoopControl.PartialCount: "int",
        },
        "TensorAddressingOperands": {
            TensorAddressingOperands.TensorView: "id",
            TensorAddressingOperands.DecodeFunc: "id",
            TensorAddressingOperands.DecodeVectorFunc: "id",
        },
    }
)
"""By operand kind: the pattern of the operands that follow an enumerant which has some."""


class GlslStd450(enum.IntEnum):
    """Instructions of GLSL.std.450."""

    Round = 1
    RoundEven = 2
    Trunc = 3
    FAbs = 4
    SAbs = 5
    FSign = 6
    SSign = 7
    Floor = 8
    Ceil = 9
    Fract = 10
    Radians = 11
    Degrees = 12
    Sin = 13
    Cos = 14
    Tan = 15
    Asin = 16
    Acos = 17
    Atan = 18
    Sinh = 19
    Cosh = 20
    Tanh = 21
    Asinh = 22
    Acosh = 23
    Atanh = 24
    Atan2 = 25
    Pow = 26
    Exp = 27
    Log = 28
    Exp2 = 29
    Log2 = 30
    Sqrt = 31
    InverseSqrt = 32
    Determinant = 33
    MatrixInverse = 34
    Modf = 35
    ModfStruct = 36
    FMin = 37
    UMin = 38
    SMin = 39
    FMax = 40
    UMax = 41
    SMax = 42
    FClamp = 43
    UClamp = 44
    SClamp = 45
    FMix = 46
    IMix = 47
    Step = 48
    SmoothStep = 49
    Fma = 50
    Frexp = 51
    FrexpStruct = 52
    Ldexp = 53
    PackSnorm4x8 = 54
    PackUnorm4x8 = 55
    PackSnorm2x16 = 56
    PackUnorm2x16 = 57
    PackHalf2x16 = 58
    PackDouble2x32 = 59
    UnpackSnorm2x16 = 60
    UnpackUnorm2x16 = 61
    UnpackHalf2x16 = 62
    UnpackSnorm4x8 = 63
    UnpackUnorm4x8 = 64
    UnpackDouble2x32 = 65
    Length = 66
    Distance = 67
    Cross = 68
    Normalize = 69
    FaceForward = 70
    Reflect = 71
    Refract = 72
    FindILsb = 73
    FindSMsb = 74
    FindUMsb = 75
    InterpolateAtCentroid = 76
    InterpolateAtSample = 77
    InterpolateAtOffset = 78
    NMin = 79
    NMax = 80
    NClamp = 81
