// The files of assets/ and the chart libraries, as bytes of the program; assets.cc says where they are.
#define ASSET(name, file)                       \
  .global mgcompare_##name;                     \
  .hidden mgcompare_##name;                     \
  .global mgcompare_##name##_end;               \
  .hidden mgcompare_##name##_end;               \
  mgcompare_##name: .incbin file;               \
  mgcompare_##name##_end: .byte 0;

  .section .rodata
ASSET(page_template, TEMPLATE)
ASSET(page_style, STYLE)
ASSET(page_script, SCRIPT)
ASSET(chart_script, CHARTS)
  .section .note.GNU-stack, "", %progbits
