img.pipeline @max_filter {
  %image = img.input "image" : !img.func<3xf32>
  %sum = img.stage "sum" (%x) -> si32 {
    %0 = arith.constant 0 : i32
    img.yield %0 : i32
  }
  %1 = arith.constant 0 : index
  %2 = arith.constant 27 : index
  %sum_update = img.update "sum_update" (%x_1) over (%r.x in [%1, %2]) of (%sum_1 = %sum : !img.func<1xsi32>) combine [add] inline {
    %3 = arith.index_cast %x_1 : index to i32
    %4 = arith.muli %3, %3 : i32
    %5 = arith.index_cast %r.x : index to i32
    %6 = arith.muli %5, %5 : i32
    %7 = arith.addi %4, %6 : i32
    %8 = arith.sitofp %7 : i32 to f32
    %9 = arith.constant 689.0625 : f32
    %10 = arith.cmpf olt, %8, %9 : f32
    %11 = arith.constant 1 : i32
    %12 = arith.constant 0 : i32
    %13 = arith.select %10, %11, %12 : i32
    img.write %13 at [%x_1] : i32
  }
  %filter_height = img.stage "filter_height" (%x_2) -> si32 {
    %14 = img.read %sum_update[%x_2] : !img.func<1xsi32>
    img.yield %14 : i32
  }
  %slice_for_radius = img.stage "slice_for_radius" (%t) -> si32 {
    %15 = arith.constant 2 : i32
    %16 = arith.index_cast %t : index to i32
    %17 = arith.muli %15, %16 : i32
    %18 = arith.constant 1 : i32
    %19 = arith.addi %17, %18 : i32
    %20 = arith.sitofp %19 : i32 to f32
    %21 = math.log %20 : f32
    %22 = arith.constant 0.693147182 : f32
    %23 = arith.divf %21, %22 : f32
    %24 = math.floor %23 : f32
    %25 = arith.fptosi %24 : f32 to i32
    img.yield %25 : i32
  }
  %image_1 = img.boundary repeat_edge %image dims [0, 1, 2] : !img.func<3xf32>
  %vert_log = img.stage "vert_log" (%x_3, %y, %c, %t_1) -> f32 {
    %26 = img.read %image_1[%x_3, %y, %c] : !img.func<3xf32>
    img.yield %26 : f32
  }
  %27 = img.extent 1 of %image : !img.func<3xf32>
  %28 = arith.constant -26 : index
  %29 = arith.constant 26 : index
  %30 = arith.addi %27, %29 : index
  %31 = arith.constant 1 : index
  %32 = arith.constant 5 : index
  %vert_log_update = img.update "vert_log_update" (%x_4, %c_1) over (%r.x_1 in [%28, %30], %r.y in [%31, %32]) of (%vert_log_1 = %vert_log : !img.func<4xf32>) {
    %33 = img.read %vert_log_1[%x_4, %r.x_1, %c_1, %r.y - 1] : !img.func<4xf32>
    %34 = arith.index_cast %r.y : index to i32
    %35 = arith.constant 1 : i32
    %36 = arith.subi %34, %35 : i32
    %37 = arith.constant 0 : i32
    %38 = arith.cmpi sge, %36, %37 : i32
    %39 = arith.shli %35, %36 : i32
    %40 = arith.subi %37, %36 : i32
    %41 = arith.shrsi %35, %40 : i32
    %42 = arith.select %38, %39, %41 : i32
    %43 = arith.constant 52 : i32
    %44 = arith.minsi %42, %43 : i32
    %45 = arith.maxsi %44, %37 : i32
    %46 = arith.index_cast %45 : i32 to index
    %47 = img.read %vert_log_1[%x_4, %r.x_1 + %46, %c_1, %r.y - 1] : !img.func<4xf32>
    %48 = arith.maxnumf %33, %47 : f32
    img.write %48 at [%x_4, %r.x_1, %c_1, %r.y] : f32
  }
  %vert = img.stage "vert" (%x_5, %y_1, %c_2, %t_2) -> f32 {
    %49 = img.read %slice_for_radius[%t_2] : !img.func<1xsi32>
    %50 = arith.constant 5 : i32
    %51 = arith.minsi %49, %50 : i32
    %52 = arith.constant 0 : i32
    %53 = arith.maxsi %51, %52 : i32
    %54 = arith.index_cast %53 : i32 to index
    %55 = img.read %vert_log_update[%x_5, %y_1 + %t_2 * -1, %c_2, %54] : !img.func<4xf32>
    %56 = arith.cmpi sge, %53, %52 : i32
    %57 = arith.constant 1 : i32
    %58 = arith.shli %57, %53 : i32
    %59 = arith.subi %52, %53 : i32
    %60 = arith.shrsi %57, %59 : i32
    %61 = arith.select %56, %58, %60 : i32
    %62 = arith.constant 52 : i32
    %63 = arith.minsi %61, %62 : i32
    %64 = arith.maxsi %63, %52 : i32
    %65 = arith.index_cast %64 : i32 to index
    %66 = img.read %vert_log_update[%x_5, %y_1 + %t_2 + %65 * -1 + 1, %c_2, %54] : !img.func<4xf32>
    %67 = arith.maxnumf %55, %66 : f32
    img.yield %67 : f32
  }
  %maximum = img.stage "maximum" (%x_6, %y_2, %c_3) -> f32 {
    %68 = arith.constant 0x7fc00000 : f32
    img.yield %68 : f32
  }
  %69 = arith.constant -26 : index
  %70 = arith.constant 53 : index
  %maximum_update = img.update "maximum_update" (%x_7, %y_3, %c_4) over (%r.x_2 in [%69, %70]) of (%maximum_1 = %maximum : !img.func<3xf32>) combine [max] inline {
    %71 = img.read %filter_height[%r.x_2] : !img.func<1xsi32>
    %72 = arith.constant 27 : i32
    %73 = arith.minsi %71, %72 : i32
    %74 = arith.constant 0 : i32
    %75 = arith.maxsi %73, %74 : i32
    %76 = arith.index_cast %75 : i32 to index
    %77 = img.read %vert[%x_7 + %r.x_2, %y_3, %c_4, %76] : !img.func<4xf32>
    img.write %77 at [%x_7, %y_3, %c_4] : f32
  }
  %max_filter = img.stage "max_filter" (%x_8, %y_4, %c_5) -> f32 bounds #img.box<[*, *, 0:3]> {
    %78 = img.read %maximum_update[%x_8, %y_4, %c_5] : !img.func<3xf32>
    img.yield %78 : f32
  }
  img.return "max_filter" = %max_filter : !img.func<3xf32>
}
