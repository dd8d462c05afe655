// A pipeline as a graph: a cluster for each kernel, quotes and backslashes of names escaped.

// RUN: pipeline-opt %s -t dot | filecheck %s
// RUN: pipeline-opt %s --emit=dot -p 'group-stages{algorithm=all},tile,promote-memory' | filecheck %s --check-prefix=KERNELS
// RUN: pipeline-opt %s -p 'group-stages{algorithm=all}' -t 'dot{kernels=true}' | filecheck %s --check-prefix=ORDER
// RUN: pipeline-opt %s -p 'inline-stages,group-stages,tile,promote-memory,lower-groups' -t dot | filecheck %s --check-prefix=LOWERED
// RUN: echo 'func.func private @f()' | not pipeline-opt - -t dot 2>&1 | filecheck %s --check-prefix=NONE

// CHECK:      digraph "blur" {
// CHECK-NEXT:   node [fontname="sans-serif"];
// CHECK-NEXT:   "in" [shape=ellipse label="in\n2-d ui8"];
// CHECK-NEXT:   "the \"sum\" \\ 2" [shape=box label="the \"sum\" \\ 2\n2-d ui8"];
// CHECK-NEXT:   "out" [shape=box peripheries=2 label="out\n2-d ui8"];
// CHECK-NEXT:   "in" -> "the \"sum\" \\ 2" [label="2 reads\nrepeat_edge"];
// CHECK-NEXT:   "the \"sum\" \\ 2" -> "out" [label="1 read"];
// CHECK-NEXT: }
// CHECK-NOT:  {{.}}

// KERNELS:      digraph "blur" {
// KERNELS-NEXT:   node
// KERNELS-NEXT:   "in" [shape=ellipse
// KERNELS-NEXT:   subgraph "cluster_out" {
// KERNELS-NEXT:     label="out\n#schedule.{{.*}}>";
// KERNELS-NEXT:     "the \"sum\" \\ 2" [shape=box label="the \"sum\" \\ 2\n2-d ui8\n#img.place<{{.*}}>"];
// KERNELS-NEXT:     "out" [shape=box peripheries=2 label="out\n2-d ui8"];
// KERNELS-NEXT:   }
// KERNELS-NEXT:   "in" -> "the \"sum\" \\ 2"
// KERNELS-NEXT:   "the \"sum\" \\ 2" -> "out"
// KERNELS-NEXT: }

// One node per kernel.

// ORDER:      digraph "blur" {
// ORDER-NEXT:   node
// ORDER-NEXT:   "in" [shape=ellipse label="in"];
// ORDER-NEXT:   "out" [shape=box label="out\nthe \"sum\" \\ 2, out"];
// ORDER-NEXT:   "in" -> "out";
// ORDER-NEXT: }

// Kernels stand beside their pipeline, which is drawn.
// LOWERED: digraph "blur" {
// LOWERED: subgraph "cluster_out" {

// NONE: error: no pipeline to draw: the module has no img.pipeline
img.pipeline @blur {
  %in = img.input "in" : !img.func<2xui8>
  %edge = img.boundary repeat_edge %in dims [0, 1] : !img.func<2xui8>
  %sum = img.stage "the \"sum\" \\ 2" (%x, %y) -> ui8 {
    %l = img.read %edge[%x - 1, %y] : !img.func<2xui8>
    %r = img.read %edge[%x + 1, %y] : !img.func<2xui8>
    %v = arith.addi %l, %r : i8
    img.yield %v : i8
  }
  %out = img.stage "out" (%x, %y) -> ui8 {
    %v = img.read %sum[%x, %y + 1] : !img.func<2xui8>
    img.yield %v : i8
  }
  img.return "out" = %out : !img.func<2xui8>
}
