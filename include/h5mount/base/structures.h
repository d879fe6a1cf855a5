// Names of structures of the format, as errors tell them (Error::structure): those of which `advice_on` knows
// what can be done about damage to them. A decoder names its structure by these, so that a name that changes
// changes with the advice.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace h5mount::structures {

inline constexpr std::string_view kBTree2Header = "BTree2Header";
inline constexpr std::string_view kBTree2InternalNode = "BTree2InternalNode";
inline constexpr std::string_view kBTree2LeafNode = "BTree2LeafNode";
inline constexpr std::string_view kChunkBTree1Node = "ChunkBTree1Node";
inline constexpr std::string_view kDataLayoutMessage = "DataLayoutMessage";
inline constexpr std::string_view kDataspaceMessage = "DataspaceMessage";
inline constexpr std::string_view kDatatypeMessage = "DatatypeMessage";
inline constexpr std::string_view kExtensibleArrayDataBlock = "ExtensibleArrayDataBlock";
inline constexpr std::string_view kExtensibleArrayDataBlockPage = "ExtensibleArrayDataBlockPage";
inline constexpr std::string_view kExtensibleArrayHeader = "ExtensibleArrayHeader";
inline constexpr std::string_view kExtensibleArrayIndexBlock = "ExtensibleArrayIndexBlock";
inline constexpr std::string_view kExtensibleArraySuperBlock = "ExtensibleArraySuperBlock";
inline constexpr std::string_view kFilterPipelineMessage = "FilterPipelineMessage";
inline constexpr std::string_view kFixedArrayDataBlock = "FixedArrayDataBlock";
inline constexpr std::string_view kFixedArrayDataBlockPage = "FixedArrayDataBlockPage";
inline constexpr std::string_view kFixedArrayHeader = "FixedArrayHeader";
inline constexpr std::string_view kFractalHeapDirectBlock = "FractalHeapDirectBlock";
inline constexpr std::string_view kFractalHeapHeader = "FractalHeapHeader";
inline constexpr std::string_view kFractalHeapHugeObject = "FractalHeapHugeObject";
inline constexpr std::string_view kFractalHeapId = "FractalHeapId";
inline constexpr std::string_view kFractalHeapIndirectBlock = "FractalHeapIndirectBlock";
inline constexpr std::string_view kGroupBTree1Node = "GroupBTree1Node";
inline constexpr std::string_view kLinkInfoMessage = "LinkInfoMessage";
inline constexpr std::string_view kLinkMessage = "LinkMessage";
inline constexpr std::string_view kLocalHeap = "LocalHeap";
inline constexpr std::string_view kLocalHeapDataSegment = "LocalHeapDataSegment";
inline constexpr std::string_view kObjectHeader = "ObjectHeader";
inline constexpr std::string_view kObjectHeaderContinuation = "ObjectHeaderContinuation";
inline constexpr std::string_view kObjectHeaderContinuationMessage = "ObjectHeaderContinuationMessage";
inline constexpr std::string_view kSuperblock = "Superblock";
inline constexpr std::string_view kSuperblockExtension = "SuperblockExtension";
inline constexpr std::string_view kSymbolTableEntry = "SymbolTableEntry";
inline constexpr std::string_view kSymbolTableMessage = "SymbolTableMessage";
inline constexpr std::string_view kSymbolTableNode = "SymbolTableNode";

// Data of a dataset that are not where its metadata say.
inline constexpr std::string_view kChunk = "Chunk";
inline constexpr std::string_view kDataLayout = "DataLayout";

// Whether module `salvage` looks for such structures, puts others in their place or rebuilds them.
inline bool is_rebuilt(std::string_view name) {
  static constexpr std::string_view kRebuilt[] = {kBTree2Header,
                                                  kBTree2InternalNode,
                                                  kBTree2LeafNode,
                                                  kChunkBTree1Node,
                                                  kDataLayoutMessage,
                                                  kDataspaceMessage,
                                                  kDatatypeMessage,
                                                  kExtensibleArrayDataBlock,
                                                  kExtensibleArrayDataBlockPage,
                                                  kExtensibleArrayHeader,
                                                  kExtensibleArrayIndexBlock,
                                                  kExtensibleArraySuperBlock,
                                                  kFilterPipelineMessage,
                                                  kFixedArrayDataBlock,
                                                  kFixedArrayDataBlockPage,
                                                  kFixedArrayHeader,
                                                  kFractalHeapDirectBlock,
                                                  kFractalHeapHeader,
                                                  kFractalHeapHugeObject,
                                                  kFractalHeapId,
                                                  kFractalHeapIndirectBlock,
                                                  kGroupBTree1Node,
                                                  kLinkInfoMessage,
                                                  kLinkMessage,
                                                  kLocalHeap,
                                                  kLocalHeapDataSegment,
                                                  kObjectHeader,
                                                  kObjectHeaderContinuation,
                                                  kObjectHeaderContinuationMessage,
                                                  kSuperblock,
                                                  kSuperblockExtension,
                                                  kSymbolTableEntry,
                                                  kSymbolTableMessage,
                                                  kSymbolTableNode};
  return std::ranges::find(kRebuilt, name) != std::end(kRebuilt);
}

inline bool holds_data(std::string_view name) {
  return name == kChunk || name == kDataLayout;
}

}  // namespace h5mount::structures
