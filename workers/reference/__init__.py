"""Plain Blender, against which a frame is proved: it renders the frame whole and compares pictures.

Written for itself: it shares no line with the code that renders pieces, merges and finishes, so that a
fault of theirs cannot hide in it. What an artist would do by hand is done here in the same order: open
the file, choose scene, camera, samples and size, render the frame as an animation, save. A process
renders one frame and ends, so nothing is ever put back as it was. Blender 5 is taken for granted.

bpy, numpy and the standard library; of ours only the plumbing of a child, and `workers.differences`.
"""
