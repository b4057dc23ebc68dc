"""A vertex shader with the three vertices of a triangle that covers the viewport: (-1, -1), (3, -1) and (-1, 3)."""

from __future__ import annotations

CORNERS = 3

COVERING_TRIANGLE = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint Vertex %main "main" %index %position
OpDecorate %index BuiltIn VertexIndex
OpDecorate %position BuiltIn Position
%void = OpTypeVoid
%function = OpTypeFunction %void
%u32 = OpTypeInt 32 0
%f32 = OpTypeFloat 32
%vec4 = OpTypeVector %f32 4
%input = OpTypePointer Input %u32
%output = OpTypePointer Output %vec4
%index = OpVariable %input Input
%position = OpVariable %output Output
%bool = OpTypeBool
%one = OpConstant %u32 1
%two = OpConstant %u32 2
%zero_f = OpConstant %f32 0
%one_f = OpConstant %f32 1
%three_f = OpConstant %f32 3
%minus_one_f = OpConstant %f32 -1
%main = OpFunction %void None %function
%entry = OpLabel
%which = OpLoad %u32 %index
%is_right = OpIEqual %bool %which %one
%is_low = OpIEqual %bool %which %two
%x = OpSelect %f32 %is_right %three_f %minus_one_f
%y = OpSelect %f32 %is_low %three_f %minus_one_f
%place = OpCompositeConstruct %vec4 %x %y %zero_f %one_f
OpStore %position %place
OpReturn
OpFunctionEnd
"""
"""The module, as text."""
